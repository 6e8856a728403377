// The executor's preparation of a program: its channels, its scratch memory, and when the buffers
// of its callers are registered.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "engine/run/executor.hpp"

namespace weft::engine {

using plan::OpKind;

namespace {

// A message of this size takes long enough to be worth a registration of its own. Smaller ones may
// be many, and one registration of the whole buffer serves them all.
constexpr std::uint64_t kRegisteredPiece = 4 << 20;

}  // namespace

void MemoryNeed::add(const MemoryNeed& other) {
  scratch_bytes = std::max(scratch_bytes, other.scratch_bytes);
  uses_scratch |= other.uses_scratch;
  stages.insert(stages.end(), other.stages.begin(), other.stages.end());
}

MemoryNeed Executor::need_of(const plan::Plan& plan, std::span<const int> place_of_rank) const {
  MemoryNeed need;
  need.scratch_bytes = plan.scratch_bytes();
  for (const plan::Op& op : plan.ops()) {
    if (op.kind != OpKind::send && op.kind != OpKind::recv) continue;
    const plan::Slice& slice = op.kind == OpKind::send ? op.src : op.dst;
    if (place_of_rank[op.peer] >= 0 || !links_.goes_straight(slice.bytes())) continue;
    need.uses_scratch |= slice.space == plan::Space::scratch;
    if (slice.space != plan::Space::stage) continue;
    const int place = place_of_rank[slice.owner];
    if (std::ranges::find(need.stages, place) == need.stages.end()) need.stages.push_back(place);
  }
  return need;
}

bool Executor::lacks(const MemoryNeed& need) const noexcept {
  if (!scratch_.has(need.scratch_bytes, need.uses_scratch)) return true;
  return std::ranges::any_of(
      need.stages, [this](int place) { return stages_ != nullptr && stages_->key(place) == 0; });
}

void Executor::provide(const MemoryNeed& need) {
  scratch_.provide(need.scratch_bytes, need.uses_scratch, !is_idle());
  if (stages_ == nullptr) return;
  for (const int place : need.stages) stages_->register_with(*links_.slabs(), place);
}

void Executor::register_like_former(Stages& stages) const {
  if (stages_ == nullptr) return;
  for (int place = 0; place < stages_->places(); ++place) {
    if (stages_->key(place) != 0) stages.register_with(*links_.slabs(), place);
  }
}

Prepared Executor::prepare(Program program) {
  Prepared prepared{std::move(program), {}, {}, {}, false, 0, 0};
  const Program& made = prepared.program;
  prepared.ranks.reserve(made.peers().size());
  prepared.channels.reserve(made.peers().size());
  for (const int peer : made.peers()) {
    prepared.ranks.push_back(peer);
    prepared.channels.push_back(links_.channel(peer));
    if (prepared.channels.back() == nullptr) {
      throw Error(fmt::format("a plan needs a channel to rank {}, and there is none", peer));
    }
  }
  renumbered(prepared);
  executions_.make_room_for(made);
  return prepared;
}

/// Finds out what the device will see of an execution.
void Executor::renumbered(Prepared& prepared, bool same_steps) const noexcept {
  prepared.registering = {};
  prepared.messages = prepared.wire_bytes = 0;
  const bool is_local =
      std::ranges::all_of(prepared.ranks, [this](int rank) { return links_.is_local(rank); });
  const auto steps = is_local ? std::span<const Step>() : prepared.program.steps();
  for (const Step& step : steps) {
    if (step.deferred || (step.kind != OpKind::send && step.kind != OpKind::recv)) continue;
    const bool local = links_.is_local(prepared.ranks[step.peer]);
    const Operand& operand = step.kind == OpKind::send ? step.src : step.dst;
    if (step.kind == OpKind::send && !local) {
      ++prepared.messages;
      prepared.wire_bytes += operand.bytes();
    }
    if (!local && operand.base < 2 &&
        prepared.channels[step.peer]->is_rendezvous(operand.bytes())) {
      Registering& known = prepared.registering[operand.base];
      const bool piece = operand.count == 1 && operand.bytes() >= kRegisteredPiece;
      if (!piece || known == Registering::whole) {
        known = Registering::whole;
      } else {
        known = Registering::pieces;
      }
    }
  }
  const std::uint64_t most_message_bytes = is_local ? verbs::kPayloadBytes : 0;
  if (same_steps) {
    prepared.sequence.renumber(prepared.program, most_message_bytes);
  } else {
    prepared.sequence.assign(prepared.program, most_message_bytes);
  }
  prepared.registers =
      std::ranges::find(prepared.registering, Registering::whole) != prepared.registering.end();
}

}  // namespace weft::engine
