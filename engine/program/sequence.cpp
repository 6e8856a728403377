#include "engine/program/sequence.hpp"

#include <algorithm>
#include <limits>

namespace weft::engine {

using plan::OpKind;
using Kind = Action::Kind;
using Memory = Action::Memory;

namespace {

// Longer programs take so long that a list is no gain.
constexpr std::size_t kMostSteps = 256;
// Of both buffers: far from the size of caches, past which copies are made in another way.
constexpr std::uint64_t kMostBytes = 128 << 10;

Action::Side side_of(const Program& program, const Operand& operand) {
  const auto places = static_cast<std::uint32_t>(program.places());
  const auto offset = static_cast<std::uint32_t>(operand.offset);
  if (operand.base < 3) return {static_cast<Memory>(operand.base), 0, 0, offset};
  const std::uint32_t behind = operand.base - program.stage_base(0);
  const std::uint32_t ordinal = behind / places;
  return {ordinal == 0 ? Memory::stage : Memory::message,
          static_cast<std::uint16_t>(behind % places), ordinal, offset};
}

/// Whether some number is too large for an action.
bool is_far(const Step& step) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return (step.src.offset | step.dst.offset | step.src.bytes()) > kMost;
}

bool has_gaps(const Operand& operand) {
  return operand.count != 1;
}

/// Of a step that sends or receives over a channel; 0 for others.
std::uint64_t message_bytes(const Step& step) {
  if (step.kind == OpKind::send) return step.src.bytes();
  return step.kind == OpKind::recv ? step.dst.bytes() : 0;
}

}  // namespace

void Sequence::assign(const Program& program, std::uint64_t most_message_bytes) {
  actions_.clear();
  changes_.clear();
  uses_stage_ = program.uses_stage();
  needs_room_ = uses_stage_ || program.signals();
  hears_all_ = program.hears_all_places();
  const std::size_t steps = program.steps().size();
  const bool is_local = most_message_bytes != 0 || program.peers().empty();
  if (!is_local || program.places() <= 1 || program.uses_peer_buffers() ||
      program.fold_sources() != 0 || steps > kMostSteps ||
      program.input_bytes() + program.output_bytes() > kMostBytes) {
    return;
  }
  actions_.reserve(steps);
  for (std::uint32_t id = 0; id < steps; ++id) {
    if (add(program, id, most_message_bytes)) continue;
    actions_.clear();
    return;
  }
  const auto changes = [](const Counts& counts) {
    return (counts.waits | counts.inline_in | counts.inline_out) != 0;
  };
  changes_.reserve(static_cast<std::size_t>(std::ranges::count_if(program.counts(), changes)));
  for (std::uint32_t place = 0; place < program.counts().size(); ++place) {
    const Counts& counts = program.counts()[place];
    if (changes(counts)) changes_.push_back({place, counts});
  }
}

void Sequence::renumber(const Program& program, std::uint64_t most_message_bytes) {
  if (actions_.empty() || program.input_bytes() + program.output_bytes() > kMostBytes) {
    return assign(program, most_message_bytes);
  }
  hears_all_ = program.hears_all_places();
  // Plans of so few steps and bytes have no large numbers.
  for (Action& action : actions_) {
    if (action.kind == Kind::signal || action.kind == Kind::await_signal) continue;
    const Step& step = program.steps()[action.step];
    if (message_bytes(step) > most_message_bytes) return assign(program, most_message_bytes);
    action.bytes = static_cast<std::uint32_t>(step.src.bytes());
    action.from.offset = static_cast<std::uint32_t>(step.src.offset);
    action.to.offset = static_cast<std::uint32_t>(step.dst.offset);
  }
}

/// False: it is of no kind of action.
bool Sequence::add(const Program& program, std::uint32_t id, std::uint64_t most_message_bytes) {
  const Step& step = program.steps()[id];
  if (step.deferred) return true;
  if (is_far(step)) return false;
  Action action;
  action.step = id;
  action.place = static_cast<std::uint16_t>(step.peer);
  action.ordinal = step.ordinal;
  action.dst_operand = step.dst_operand;
  action.bytes = static_cast<std::uint32_t>(step.src.bytes());
  action.from = side_of(program, step.src);
  action.to = side_of(program, step.dst);
  const bool is_plain = !has_gaps(step.src) && !has_gaps(step.dst);
  switch (step.kind) {
    case OpKind::signal:
      action.kind = step.is_inline ? Kind::send : Kind::signal;
      if (step.is_inline && has_gaps(step.src)) return false;
      break;
    case OpKind::wait:
      action.kind = step.is_inline ? Kind::await_message : Kind::await_signal;
      break;
    case OpKind::copy:
      action.kind = is_plain ? Kind::copy : Kind::copy_blocks;
      break;
    case OpKind::reduce:
      action.kind = Kind::combine;
      if (!is_plain) return false;
      break;
    case OpKind::send:
    case OpKind::recv:
      action.kind = step.kind == OpKind::send ? Kind::send_over : Kind::receive_over;
      if (message_bytes(step) > most_message_bytes) return false;
      break;
  }
  actions_.push_back(action);
  return true;
}

}  // namespace weft::engine
