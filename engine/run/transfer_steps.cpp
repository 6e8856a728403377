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
  moving_.add(id);
  if (activity_[step.peer]++ == 0) {
    active_.add(step.peer);
    if (!executor_.links_.is_local(prepared_->ranks[step.peer])) ++remote_active_;
  }
}

bool Execution::progress_channels() noexcept {
  for (const std::uint32_t peer : active_) {
    if (prepared_->channels[peer]->progress() == Status::failed) {
      fail(peer);
      return true;
    }
  }
  const auto& steps = prepared_->program.steps();
  bool moved = false;
  for (std::size_t i = 0; i < moving_.size();) {
    const std::uint32_t id = moving_[i];
    if (!transfers_[steps[id].ordinal].done) {
      ++i;
      continue;
    }
    moving_.remove_at(i);
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
  active_.remove_at(static_cast<std::size_t>(std::ranges::find(active_, peer) - active_.begin()));
  if (!executor_.links_.is_local(prepared_->ranks[peer])) --remote_active_;
}

void Execution::tell_call() noexcept {
  for (const std::uint32_t peer : active_) prepared_->channels[peer]->tell_call(tag_.word());
}

void Execution::probe_peers() noexcept {
  for (const std::uint32_t peer : active_) prepared_->channels[peer]->probe();
}

}  // namespace weft::engine
