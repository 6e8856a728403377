#include "engine/executor.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace weft::engine {

using plan::OpKind;
using verbs::Layout;
using verbs::Status;

namespace {

// Of what a peer has, brought here for a reduction at once: a part of the nearest cache.
constexpr std::size_t kOperandBytes = 32 << 10;

/// Grows a buffer of an execution; contents do not matter between executions.
template <class T>
void at_least(std::vector<T>& list, std::size_t size) {
  if (list.size() < size) list.resize(size);
}

}  // namespace

Executor::Executor(int rank, Node* node, bool crowded, Links& links, WhileWaiting meanwhile,
                   std::int64_t timeout_ns)
    : rank_(rank),
      node_(node),
      crowded_(crowded),
      links_(links),
      meanwhile_(std::move(meanwhile)),
      timeout_ns_(timeout_ns),
      waited_(node == nullptr ? 1 : node->places()) {}

Prepared Executor::prepare(Program program) {
  Prepared prepared{std::move(program), {}, {}, false, false, 0, 0};
  const Program& made = prepared.program;
  for (const int peer : made.peers()) {
    prepared.ranks.push_back(peer);
    prepared.channels.push_back(links_.channel(peer));
  }
  for (const Step& step : made.steps()) {
    if (step.kind == OpKind::reduce) at_least(operand_, kOperandBytes);
    if (step.kind != OpKind::send && step.kind != OpKind::recv) continue;
    const bool local = links_.is_local(prepared.ranks[step.peer]);
    const Operand& operand = step.kind == OpKind::send ? step.src : step.dst;
    if (step.kind == OpKind::send && !local) {
      ++prepared.messages;
      prepared.wire_bytes += operand.bytes();
    }
    if (!local && prepared.channels[step.peer]->is_rendezvous(operand.bytes())) {
      prepared.registers_input |= operand.base == 0;
      prepared.registers_output |= operand.base == 1;
    }
  }

  const std::size_t bases = 3 + 3 * static_cast<std::size_t>(made.places());
  at_least(bases_, bases);
  at_least(lkeys_, bases);
  at_least(rkeys_, bases);
  at_least(pending_, made.steps().size());
  at_least(ready_, made.steps().size());
  at_least(waiting_, made.steps().size());
  at_least(moving_, made.transfers());
  at_least(transfers_, made.transfers());
  at_least(active_, made.peers().size());
  at_least(activity_, made.peers().size());
  if (scratch_.size() < made.scratch_bytes()) {
    scratch_registration_.reset();
    scratch_ = Segment::create("weft-scratch", made.scratch_bytes());
  }
  if (verbs::Endpoint* endpoint = links_.endpoint()) {
    if (!scratch_registration_ && scratch_.size() != 0) {
      scratch_registration_ = endpoint->register_memory(scratch_.data(), scratch_.size());
    }
    if (stages_ != nullptr) stages_->register_with(*endpoint);
  }
  return prepared;
}

bool Executor::begin(const Prepared& prepared, const std::byte* input, std::byte* output) noexcept {
  const Program& program = prepared.program;
  prepared_ = &prepared;
  ++execution_;
  ready_begin_ = ready_end_ = waiting_count_ = moving_count_ = active_count_ = remote_active_ = 0;
  idle_turns_ = 0;
  left_ = static_cast<std::uint32_t>(program.steps().size());
  std::memcpy(pending_.data(), program.pending().data(), left_ * sizeof(std::uint32_t));
  std::fill_n(activity_.begin(), program.peers().size(), 0u);

  bases_[0] = const_cast<std::byte*>(input);  // plans never write inputs
  bases_[1] = output;
  bases_[2] = scratch_.data();
  lkeys_[2] = scratch_registration_.lkey();
  rkeys_[2] = scratch_registration_.rkey();
  if (stages_ != nullptr) {
    for (int place = 0; place < program.places(); ++place) {
      const std::uint32_t base = program.stage_base(place);
      bases_[base] = stages_->half(place, execution_);
      lkeys_[base] = stages_->lkey(place);
      rkeys_[base] = stages_->rkey(place);
    }
  }
  if (node_ != nullptr) node_->enter(execution_, input, output);
  return !program.uses_stage() || node_ == nullptr || heard_all_ || guard_stages();
}

bool Executor::run(Prepared& prepared, const std::byte* input, std::byte* output,
                   const Operation* operation) noexcept {
  if (!failure_.empty()) return false;
  if (links_.is_troubled()) links_.tend();
  if (!register_buffers(prepared, input, output)) return false;
  operation_ = operation;
  bool good = begin(prepared, input, output);
  if (good) {
    const Program& program = prepared.program;
    for (const std::uint32_t id : program.initial()) ready_[ready_end_++] = id;
    while (true) {
      while (ready_begin_ != ready_end_) start(ready_[ready_begin_++]);
      if (left_ == 0 || !failure_.empty()) break;
      if (progress()) {
        idle_turns_ = 0;
      } else if (!idle()) {
        break;
      }
    }
    good = failure_.empty();
    if (good && node_ != nullptr) {
      for (int place = 0; place < program.places(); ++place)
        waited_[place] += program.waits()[place];
      node_->complete(execution_);
    }
    heard_all_ = program.hears_all_places();
  }
  if (prepared.registers_input || prepared.registers_output) links_.registrations()->release();
  return good;
}

/// A buffer that the adapter refuses keeps keys of 0: its bytes go through bounce memory.
bool Executor::register_buffers(const Prepared& prepared, const std::byte* input,
                                std::byte* output) noexcept {
  const auto enter = [&](std::size_t base, const std::byte* memory, std::uint64_t bytes) {
    verbs::RegistrationCache::Keys keys;
    links_.registrations()->acquire(memory, bytes, keys);
    lkeys_[base] = keys.lkey;
    rkeys_[base] = keys.rkey;
  };
  try {
    if (prepared.registers_input) enter(0, input, prepared.program.input_bytes());
    if (prepared.registers_output) enter(1, output, prepared.program.output_bytes());
    return true;
  } catch (const std::exception& error) {
    fail(error.what());
    return false;
  }
}

void Executor::release(std::uint32_t id) noexcept {
  if (--pending_[id] == 0) ready_[ready_end_++] = id;
}

void Executor::finish(std::uint32_t id) noexcept {
  --left_;
  const Program& program = prepared_->program;
  for (const std::uint32_t next : program.successors(program.steps()[id])) release(next);
}

void Executor::start(std::uint32_t id) noexcept {
  const Step& step = prepared_->program.steps()[id];
  switch (step.kind) {
    case OpKind::copy:
      if (copy(step)) finish(id);
      break;
    case OpKind::signal:
      node_->signal(static_cast<int>(step.peer));
      finish(id);
      break;
    case OpKind::wait:
      if (node_->signals_from(static_cast<int>(step.peer)) >= waited_[step.peer] + step.ordinal) {
        finish(id);
      } else {
        waiting_[waiting_count_++] = id;
      }
      break;
    case OpKind::send:
    case OpKind::recv:
      transfer(step, id);
      break;
    case OpKind::reduce:
      if (reduce(step)) finish(id);
      break;
  }
  if (step.next != kNone) release(step.next);
}

Layout Executor::layout(const Operand& operand, bool remote_key) const noexcept {
  return {bases_[operand.base] + operand.offset, operand.block_bytes, operand.count, operand.stride,
          remote_key ? rkeys_[operand.base] : lkeys_[operand.base]};
}

void Executor::transfer(const Step& step, std::uint32_t id) noexcept {
  verbs::Transfer& transfer = transfers_[step.ordinal];
  verbs::Channel& channel = *prepared_->channels[step.peer];
  const bool sends = step.kind == OpKind::send;
  transfer.layout = layout(sends ? step.src : step.dst, !sends);
  if (sends) {
    channel.send(transfer);
    // Small messages leave at once; this also looks for what the peer has sent.
    if (channel.progress() == Status::failed) {
      fail(fmt::format("rank {}: {}", prepared_->ranks[step.peer], channel.failure()));
      return;
    }
    if (transfer.done) {
      finish(id);
      return;
    }
  } else {
    channel.recv(transfer);
  }
  moving_[moving_count_++] = id;
  if (activity_[step.peer]++ == 0) {
    active_[active_count_++] = step.peer;
    if (!links_.is_local(prepared_->ranks[step.peer])) ++remote_active_;
  }
}

bool Executor::progress() noexcept {
  const bool waits = progress_waits();
  return progress_channels() || waits;
}

bool Executor::progress_waits() noexcept {
  const auto& steps = prepared_->program.steps();
  bool moved = false;
  for (std::size_t i = 0; i < waiting_count_;) {
    const std::uint32_t id = waiting_[i];
    const Step& step = steps[id];
    if (node_->signals_from(static_cast<int>(step.peer)) < waited_[step.peer] + step.ordinal) {
      ++i;
      continue;
    }
    waiting_[i] = waiting_[--waiting_count_];
    finish(id);
    moved = true;
  }
  return moved;
}

bool Executor::progress_channels() noexcept {
  if (moving_count_ == 0) return false;
  for (std::size_t i = 0; i < active_count_; ++i) {
    verbs::Channel& channel = *prepared_->channels[active_[i]];
    if (channel.progress() == Status::failed) {
      const char* said = channel.peer_abort();
      fail(said != nullptr
               ? std::string(said)
               : fmt::format("rank {}: {}", prepared_->ranks[active_[i]], channel.failure()));
      return true;
    }
  }
  const auto& steps = prepared_->program.steps();
  bool moved = false;
  for (std::size_t i = 0; i < moving_count_;) {
    const std::uint32_t id = moving_[i];
    const Step& step = steps[id];
    if (!transfers_[step.ordinal].done) {
      ++i;
      continue;
    }
    moving_[i] = moving_[--moving_count_];
    if (--activity_[step.peer] == 0) {
      *std::find(active_.begin(), active_.begin() + static_cast<std::ptrdiff_t>(active_count_),
                 step.peer) = active_[active_count_ - 1];
      --active_count_;
      if (!links_.is_local(prepared_->ranks[step.peer])) --remote_active_;
    }
    finish(id);
    moved = true;
  }
  return moved;
}

}  // namespace weft::engine
