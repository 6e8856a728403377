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

void Executor::make_scratch(Scratch& scratch, std::size_t bytes) {
  if (scratch.memory.size() < bytes) {
    // Executions that are under way keep the memory that they have.
    if (!under_way_.empty()) outgrown_.push_back(std::move(scratch));
    scratch = {};
    scratch.memory = SharedMemory::create("weft-scratch", bytes);
  }
  verbs::Endpoint* endpoint = links_.endpoint();
  if (endpoint != nullptr && !scratch.registration && scratch.memory.size() != 0) {
    scratch.registration = endpoint->register_memory(scratch.memory.data(), scratch.memory.size());
  }
}

void Executor::provide_memory(std::uint64_t scratch_bytes) {
  make_scratch(scratch_[0], scratch_bytes);
  if (stages_ != nullptr && links_.endpoint() != nullptr) {
    stages_->register_with(*links_.endpoint());
  }
}

std::uint64_t Executor::scratch_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Scratch& scratch : scratch_) bytes += scratch.memory.size();
  for (const Scratch& scratch : outgrown_) bytes += scratch.memory.size();
  return bytes;
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
  for (const Step& step : made.steps()) {
    if (step.kind != OpKind::send && step.kind != OpKind::recv) continue;
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
  prepared.registers =
      std::ranges::find(prepared.registering, Registering::whole) != prepared.registering.end();
  const Capacity known = capacity_;
  capacity_.grow_for(made);
  if (capacity_ != known) {
    ++capacity_version_;
    for (const auto& execution : spare_) execution->reserve(capacity_, capacity_version_);
  }
  provide_memory(made.scratch_bytes());
  return prepared;
}

}  // namespace weft::engine
