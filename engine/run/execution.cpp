#include "engine/run/execution.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "engine/memory/stream.hpp"
#include "engine/run/executor.hpp"

namespace weft::engine {

using plan::OpKind;
using verbs::Status;

void Room::grow_for(const Program& program) {
  steps = std::max(steps, program.steps().size());
  transfers = std::max<std::size_t>(transfers, program.transfers());
  peers = std::max(peers, program.peers().size());
  places = std::max(places, static_cast<std::size_t>(program.places()));
  bases = std::max<std::size_t>(bases, program.bases());
  fold_sources = std::max(fold_sources, program.fold_sources());
  reduces |= program.reduces();
}

void Execution::make(const Room& room, std::uint64_t version) {
  bases_.resize(room.bases);
  lkeys_.resize(room.bases);
  rkeys_.resize(room.bases);
  pending_.resize(room.steps);
  ready_.resize(room.steps);
  waiting_.resize(room.steps);
  moving_.resize(room.transfers);
  transfers_.resize(room.transfers);
  active_.resize(room.peers);
  activity_.resize(room.peers);
  own_counts_.resize(room.places);
  fold_sources_.resize(room.fold_sources);
  if (room.reduces) pieces_.reserve_for(room.fold_sources);
  version_ = version;
}

void Execution::assign(const Prepared& prepared, const Buffers& buffers, std::uint64_t number,
                       bool is_run, std::span<const Counts> counts) noexcept {
  const Program& program = prepared.program;
  prepared_ = &prepared;
  buffers_ = buffers;
  number_ = number;
  is_run_ = is_run;
  const auto places = static_cast<std::uint64_t>(program.places());
  past_caches_ = exceeds_caches(program.input_bytes() + program.output_bytes(), places);
  entered_ = false;
  ready_begin_ = ready_end_ = waiting_count_ = moving_count_ = active_count_ = remote_active_ = 0;
  left_ = static_cast<std::uint32_t>(program.steps().size());
  counts_ = counts.data();
  crossings_.clear();
}

void Execution::queue() noexcept {
  const Program& program = prepared_->program;
  if (left_ != 0) {
    std::memcpy(pending_.data(), program.pending().data(), left_ * sizeof(std::uint32_t));
  }
  std::fill_n(activity_.begin(), program.peers().size(), 0u);
  std::copy_n(counts_, program.places(), own_counts_.begin());
  counts_ = own_counts_.data();
}

void Execution::enter(const Stages* stages, std::size_t scratch_slot, std::byte* scratch,
                      const verbs::Registration& registration) noexcept {
  const Program& program = prepared_->program;
  scratch_slot_ = scratch_slot;
  entered_ = true;
  bases_[0] = const_cast<std::byte*>(buffers_.input);  // plans never write inputs
  bases_[1] = buffers_.output;
  bases_[2] = scratch;
  set_keys(2, registration.lkey(), registration.rkey());
  for (const int place : program.stages()) {
    const std::uint32_t base = program.stage_base(place);
    bases_[base] = stages->half(place, number_);
    set_keys(base, stages->lkey(place), stages->rkey(place));
  }
  for (const IncomingLetter& letter : program.letters()) {
    bases_[letter.base] =
        home_.node_->letter(letter.place, counts_[letter.place].letters_in + letter.ordinal);
  }
}

void Execution::release_initial() noexcept {
  for (const std::uint32_t id : prepared_->program.initial()) {
    // What follows a step of an earlier execution is let go by that one.
    if (pending_[id] == 0) ready_[ready_end_++] = id;
  }
}

void Execution::run_through(std::uint32_t looks) noexcept {
  // List order is an order that the plan allows; whoever waits too long in it is queued, as others
  // may wait for what comes later in the list.
  const auto steps = prepared_->program.steps();
  std::uint32_t id = 0;
  while (id < steps.size() && run_now(steps[id], looks)) ++id;
  if (id < steps.size()) return resume_at(id);
  left_ = 0;
}

bool Execution::run_now(const Step& step, std::uint32_t& looks) noexcept {
  switch (step.kind) {
    case OpKind::copy:
      return step.deferred || copy(step);
    case OpKind::reduce:
      return step.deferred || (step.fold == kNone ? reduce(step) : fold(step));
    case OpKind::signal:
      signal(step);
      return true;
    case OpKind::wait:
      for (; looks != 0; --looks) {
        if (has_come(step)) return true;
      }
      return has_come(step);
    case OpKind::send:
    case OpKind::recv:
      break;
  }
  return false;
}

/// All steps before `first` are done, and none after it.
void Execution::resume_at(std::uint32_t first) noexcept {
  const Program& program = prepared_->program;
  queue();
  for (std::uint32_t id = 0; id < first; ++id) {
    const Step& step = program.steps()[id];
    pending_[id] = kNone;
    for (const std::uint32_t next : program.successors(step)) --pending_[next];
    if (step.next != kNone) --pending_[step.next];
  }
  for (std::uint32_t id = first; id < left_; ++id) {
    if (pending_[id] == 0) ready_[ready_end_++] = id;
  }
  left_ -= first;
}

void Execution::let_follow(std::uint32_t last, Execution& later, std::uint32_t first) {
  if (pending_[last] == kNone) return;
  crossings_.push_back({last, &later, first});
  ++later.pending_[first];
}

void Execution::release(std::uint32_t id) noexcept {
  if (--pending_[id] == 0 && entered_) ready_[ready_end_++] = id;
}

void Execution::finish(std::uint32_t id) noexcept {
  --left_;
  const Program& program = prepared_->program;
  for (const std::uint32_t next : program.successors(program.steps()[id])) release(next);
}

void Execution::advance() noexcept {
  while (ready_begin_ != ready_end_) start(ready_[ready_begin_++]);
}

void Execution::start(std::uint32_t id) noexcept {
  const Step& step = prepared_->program.steps()[id];
  pending_[id] = kNone;
  switch (step.kind) {
    case OpKind::copy:
      if (step.deferred || copy(step)) finish(id);
      break;
    case OpKind::reduce:
      if (step.deferred || (step.fold == kNone ? reduce(step) : fold(step))) finish(id);
      break;
    case OpKind::signal:
      signal(step);
      finish(id);
      break;
    case OpKind::wait:
      if (has_come(step)) {
        finish(id);
      } else {
        waiting_[waiting_count_++] = id;
      }
      break;
    case OpKind::send:
    case OpKind::recv:
      transfer(step, id);
      break;
  }
  if (step.next != kNone) release(step.next);
  for (std::size_t i = 0; i < crossings_.size(); ++i) {
    if (crossings_[i].last == id) crossings_[i].later->release(crossings_[i].first);
  }
}

void Execution::signal(const Step& step) noexcept {
  const auto place = static_cast<int>(step.peer);
  if (step.letter) {
    const Operand& src = step.src;
    home_.node_->send_letter(
        place, counts_[step.peer].letters_out + step.ordinal,
        {bases_[src.base] + src.offset, src.block_bytes, src.count, src.stride, 0});
  } else {
    home_.node_->signal(place);
  }
}

bool Execution::has_come(const Step& step) const noexcept {
  const auto place = static_cast<int>(step.peer);
  if (step.letter) {
    return home_.node_->has_letter(place, counts_[step.peer].letters_in + step.ordinal);
  }
  return home_.node_->signals_from(place) >= counts_[step.peer].waits + step.ordinal;
}

void Execution::transfer(const Step& step, std::uint32_t id) noexcept {
  verbs::Transfer& transfer = transfers_[step.ordinal];
  verbs::Channel& channel = *prepared_->channels[step.peer];
  const bool sends = step.kind == OpKind::send;
  const Operand& operand = sends ? step.src : step.dst;
  transfer.layout = layout(operand, !sends);
  const bool registers =
      operand.base < 2 && prepared_->registering[operand.base] == Registering::pieces &&
      channel.is_rendezvous(operand.bytes()) && !home_.links_.is_local(prepared_->ranks[step.peer]);
  if (registers) {
    const auto keys = home_.register_memory(transfer.layout.base, operand.bytes());
    transfer.layout.key = sends ? keys.lkey : keys.rkey;
  }
  sends ? channel.send(transfer) : channel.recv(transfer);
  // Small messages leave at once; this also looks for what the peer has sent. And what has been
  // registered is used before the next is.
  if (sends || registers) {
    if (channel.progress() == Status::failed) {
      home_.fail(fmt::format("rank {}: {}", prepared_->ranks[step.peer], channel.failure()));
      return;
    }
    if (transfer.done) {
      finish(id);
      return;
    }
  }
  moving_[moving_count_++] = id;
  if (activity_[step.peer]++ == 0) {
    active_[active_count_++] = step.peer;
    if (!home_.links_.is_local(prepared_->ranks[step.peer])) ++remote_active_;
  }
}

bool Execution::progress() noexcept {
  const bool waits = progress_waits();
  return progress_channels() || waits;
}

bool Execution::progress_waits() noexcept {
  const auto& steps = prepared_->program.steps();
  bool moved = false;
  for (std::size_t i = 0; i < waiting_count_;) {
    const std::uint32_t id = waiting_[i];
    if (!has_come(steps[id])) {
      ++i;
      continue;
    }
    waiting_[i] = waiting_[--waiting_count_];
    finish(id);
    moved = true;
  }
  return moved;
}

bool Execution::progress_channels() noexcept {
  if (moving_count_ == 0) return false;
  for (std::size_t i = 0; i < active_count_; ++i) {
    verbs::Channel& channel = *prepared_->channels[active_[i]];
    if (channel.progress() == Status::failed) {
      const char* said = channel.peer_abort();
      home_.fail(said != nullptr
                     ? std::string(said)
                     : fmt::format("rank {}: {}", prepared_->ranks[active_[i]], channel.failure()));
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

void Execution::end_activity(std::uint32_t peer) noexcept {
  if (--activity_[peer] != 0) return;
  const auto end = active_.begin() + static_cast<std::ptrdiff_t>(active_count_);
  *std::find(active_.begin(), end, peer) = active_[active_count_ - 1];
  --active_count_;
  if (!home_.links_.is_local(prepared_->ranks[peer])) --remote_active_;
}

void Execution::probe_peers() noexcept {
  for (std::size_t i = 0; i < active_count_; ++i) prepared_->channels[active_[i]]->probe();
}

int Execution::awaited_place() const noexcept {
  if (moving_count_ != 0 || waiting_count_ == 0) return -1;
  return static_cast<int>(prepared_->program.steps()[waiting_[0]].peer);
}

std::string Execution::where() const {
  std::string text;
  const auto& steps = prepared_->program.steps();
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(waiting_count_, kShown); ++i) {
    text += fmt::format(", op {} waits for rank {}", waiting_[i],
                        home_.node_->rank_at(static_cast<int>(steps[waiting_[i]].peer)));
  }
  for (std::size_t i = 0; i < std::min(moving_count_, kShown); ++i) {
    const Step& step = steps[moving_[i]];
    text += fmt::format(", op {} {} rank {}", moving_[i],
                        step.kind == OpKind::send ? "sends to" : "receives from",
                        prepared_->ranks[step.peer]);
  }
  return text;
}

}  // namespace weft::engine
