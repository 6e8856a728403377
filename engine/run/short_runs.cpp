// The executor's way to run a sequence: the actions of a short program, one after the other.
#include <array>
#include <bit>
#include <cstring>

#include "base/copy_bytes.hpp"
#include "base/ticks.hpp"
#include "engine/copying/copy.hpp"
#include "engine/run/executor.hpp"

namespace weft::engine {

namespace {

using Kind = Action::Kind;

/// Most elements have a size that is a power of two, and a division takes longer than the rest.
std::size_t elements_of(std::uint64_t bytes, std::size_t element) noexcept {
  return std::has_single_bit(element) ? bytes >> std::countr_zero(element) : bytes / element;
}

void copy_few(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  if (bytes == 8) {
    std::memcpy(to, from, 8);
  } else if (to != from) {
    copy_bytes(to, from, bytes);
  }
}

}  // namespace

/// What the actions of a run share.
struct Executor::ShortRun {
  const Prepared& prepared;
  const Operation* operation;
  std::uint64_t number;
  std::uint32_t digest;
  std::array<std::byte*, 2> own;  // input, output
};

inline std::byte* Executor::address_of(const Action::Side& side,
                                       const ShortRun& run) const noexcept {
  if (side.memory <= Action::Memory::output) {
    return run.own[static_cast<std::size_t>(side.memory)] + side.offset;
  }
  if (side.memory != Action::Memory::message) [[unlikely]] {
    const bool is_stage = side.memory == Action::Memory::stage;
    return (is_stage ? stages_->half(side.place, run.number) : scratch_.memory(0)) + side.offset;
  }
  const std::uint64_t sequence = counts_[side.place].inline_in + side.ordinal;
  return node_->inline_bytes(side.place, sequence) + side.offset;
}

inline void Executor::send_short(const Action& action, const ShortRun& run) noexcept {
  if (action.kind == Kind::signal) return node_->signal(action.place, run.number, run.digest);
  const std::uint64_t sequence = counts_[action.place].inline_out + action.ordinal;
  const NodeControl::Outgoing message = node_->message_to(action.place, sequence);
  copy_few(message.end - action.bytes, address_of(action.from, run), action.bytes);
  node_->send(action.place, message, NodeControl::header(sequence, run.digest));
}

/// Whether what a wait waits for has come. What has come of another call has not: see
/// Execution::has_come(), which says so once this has waited for long.
inline bool Executor::has_come_short(const Action& action, const ShortRun& run) const noexcept {
  const Counts& counts = counts_[action.place];
  if (action.kind == Kind::await_message) {
    const std::uint64_t sequence = counts.inline_in + action.ordinal;
    return node_->inline_header(action.place, sequence) ==
           NodeControl::header(sequence, run.digest);
  }
  return node_->signals_from(action.place) >= counts.waits + action.ordinal &&
         node_->digest_from(action.place, run.number) == run.digest;
}

inline void Executor::do_short(const Action& action, const ShortRun& run) noexcept {
  std::byte* const to = address_of(action.to, run);
  std::byte* const from = address_of(action.from, run);
  if (action.kind == Kind::copy) return copy_few(to, from, action.bytes);
  if (action.kind == Kind::combine) {
    const Operation& operation = *run.operation;
    const bool is_left = action.dst_operand == plan::Operand::left;
    return operation.combine(operation.context, to, is_left ? to : from, is_left ? from : to,
                             elements_of(action.bytes, operation.element_bytes));
  }
  const Step& step = run.prepared.program.steps()[action.step];
  engine::copy({to, step.dst.block_bytes, step.dst.count, step.dst.stride, 0},
               {from, step.src.block_bytes, step.src.count, step.src.stride, 0});
}

/// Sends or receives a message over a channel, if that is possible at once. Not where it is of
/// another call: the step, once this has waited for long, says so.
bool Executor::transfer_short(const Action& action, const ShortRun& run) const noexcept {
  const bool sends = action.kind == Kind::send_over;
  const Step& step = run.prepared.program.steps()[action.step];
  const Operand& memory = sends ? step.src : step.dst;
  verbs::Transfer transfer;
  transfer.layout = {address_of(sends ? action.from : action.to, run), memory.block_bytes,
                     memory.count, memory.stride, 0};
  transfer.key = run.digest;
  verbs::Channel& channel = *run.prepared.channels[action.place];
  return sends ? channel.send_now(transfer) : channel.recv_now(transfer);
}

/// The ranks of the node read the state of this one where it enters and where it is done: here, and
/// in enter() and end_turn().
bool Executor::run_short(const Prepared& prepared, const Buffers& buffers) noexcept {
  const Sequence& sequence = prepared.sequence;
  const std::uint64_t number = entry_.next();
  has_waited_ = false;
  if (sequence.needs_room() && !entry_.has_room(number, sequence.uses_stage())) [[unlikely]]
    return go_on(prepared, buffers, kNone);
  entry_.enter(number, true, sequence.hears_all_places());
  // Before anything is sent: who is signalled may read this rank's buffers, and looks at when this
  // rank has come.
  arrive(ticks());
  post_call(prepared.call);
  node_->enter(number, last_call_.tag, buffers.input, buffers.output, last_call_.arrived);
  const ShortRun run{prepared,
                     buffers.operation,
                     number,
                     last_call_.tag.digest,
                     {const_cast<std::byte*>(buffers.input),  // plans never write inputs
                      buffers.output}};
  const Action* action = sequence.actions().data();
  const Action* const end = action + sequence.actions().size();
  for (std::uint32_t looks = crowded_ ? 0 : kLooks; action != end; ++action) {
    if (action->kind <= Kind::signal) {
      send_short(*action, run);
    } else if (action->kind <= Kind::await_signal) {
      while (!has_come_short(*action, run)) {
        if (looks == 0) return go_on(prepared, buffers, action->step);
        --looks;
      }
    } else if (action->kind <= Kind::combine) {
      do_short(*action, run);
    } else {
      while (!transfer_short(*action, run)) {
        if (looks == 0) return go_on(prepared, buffers, action->step);
        --looks;
      }
    }
  }
  for (const Sequence::Change& change : sequence.changes()) {
    counts_[change.place].add(change.counts);
  }
  node_->complete(number);
  return true;
}

/// Goes on with the program from a step on, before which all are done and after which none is;
/// kNone: it has not entered yet.
bool Executor::go_on(const Prepared& prepared, const Buffers& buffers,
                     std::uint32_t step) noexcept {
  has_waited_ = true;
  try {
    if (step == kNone) arrive(ticks());
    Execution& execution = assign(prepared, buffers, true, entry_.last());
    if (step == kNone) {
      execution.queue();
    } else {
      execution.enter(0, scratch_.memory(0), scratch_.key(0));
      execution.resume_at(step);
    }
    enqueue();
    return wait(execution);
  } catch (const std::exception& error) {
    poison(error.what());
    return false;
  }
}

}  // namespace weft::engine
