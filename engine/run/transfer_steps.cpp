// Steps of an execution that send and receive over channels.
#include <algorithm>

#include "base/error.hpp"
#include "engine/run/executor.hpp"

namespace weft::engine {

using plan::OpKind;
using verbs::Status;

void Execution::transfer(const Step& step, std::uint32_t id) noexcept {
  verbs::Transfer& transfer = transfers_[step.ordinal];
  verbs::Channel& channel = *prepared_->channels[step.peer];
  const bool sends = step.kind == OpKind::send;
  const Operand& operand = sends ? step.src : step.dst;
  transfer.layout = layout(operand, !sends);
  transfer.key = tag_.digest;
  const bool registers = operand.base < 2 &&
                         prepared_->registering[operand.base] == Registering::pieces &&
                         channel.is_rendezvous(operand.bytes()) &&
                         !executor_.links_.is_local(prepared_->ranks[step.peer]);
  if (registers) {
    const auto keys = executor_.register_memory(transfer.layout.base, operand.bytes());
    transfer.layout.key = sends ? keys.lkey : keys.rkey;
  }
  sends ? channel.send(transfer) : channel.recv(transfer);
  // Small messages leave at once; this also finds what the peer has sent. And a registration is
  // used before the next one is made.
  if (sends || registers) {
    if (channel.progress() == Status::failed) return fail(step.peer);
    if (transfer.done) {
      finish(id);
      return;
    }
  }
  moving_[moving_count_++] = id;
  if (activity_[step.peer]++ == 0) {
    active_[active_count_++] = step.peer;
    if (!executor_.links_.is_local(prepared_->ranks[step.peer])) ++remote_active_;
  }
}

bool Execution::progress_channels() noexcept {
  for (std::size_t i = 0; i < active_count_; ++i) {
    verbs::Channel& channel = *prepared_->channels[active_[i]];
    if (channel.progress() == Status::failed) {
      fail(active_[i]);
      return true;
    }
  }
  const auto& steps = prepared_->program.steps();
  bool moved = false;
  for (std::size_t i = 0; i < moving_count_;) {
    const std::uint32_t id = moving_[i];
    if (!transfers_[steps[id].ordinal].done) {
      ++i;
      continue;
    }
    moving_[i] = moving_[--moving_count_];
    end_activity(steps[id].peer);
    finish(id);
    moved = true;
  }
  return moved;
}

/// The channel to a peer has failed.
void Execution::fail(std::uint32_t peer) noexcept {
  const verbs::Channel& channel = *prepared_->channels[peer];
  const int rank = prepared_->ranks[peer];
  if (const auto said = channel.peer_abort()) {
    executor_.poison(std::string(*said));
  } else if (channel.is_mismatch()) {
    executor_.disagree_with(rank);
  } else {
    executor_.poison(fmt::format("rank {}: {}", rank, channel.failure()));
  }
}

void Execution::end_activity(std::uint32_t peer) noexcept {
  if (--activity_[peer] != 0) return;
  const auto end = active_.begin() + static_cast<std::ptrdiff_t>(active_count_);
  *std::find(active_.begin(), end, peer) = active_[active_count_ - 1];
  --active_count_;
  if (!executor_.links_.is_local(prepared_->ranks[peer])) --remote_active_;
}

void Execution::tell_call() noexcept {
  for (std::size_t i = 0; i < active_count_; ++i) {
    prepared_->channels[active_[i]]->tell_call(tag_.word());
  }
}

void Execution::probe_peers() noexcept {
  for (std::size_t i = 0; i < active_count_; ++i) prepared_->channels[active_[i]]->probe();
}

}  // namespace weft::engine
