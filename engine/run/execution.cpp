#include "engine/run/execution.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "engine/copying/copy.hpp"
#include "engine/run/executor.hpp"

namespace weft::engine {

using plan::OpKind;

void Capacity::grow_for(const Program& program) {
  steps = std::max(steps, program.steps().size());
  transfers = std::max<std::size_t>(transfers, program.transfers());
  peers = std::max(peers, program.peers().size());
  places = std::max(places, static_cast<std::size_t>(program.places()));
  bases = std::max<std::size_t>(bases, program.bases());
  fold_sources = std::max(fold_sources, program.fold_sources());
  reduces_peers |= program.reduces() && program.uses_peer_buffers();
}

void Execution::reserve(const Capacity& capacity, std::uint64_t version) {
  bases_.resize(capacity.bases);
  pending_.resize(capacity.steps);
  ready_.reserve(capacity.steps);
  waiting_.reserve(capacity.steps);
  moving_.reserve(capacity.transfers);
  transfers_.resize(capacity.transfers);
  active_.reserve(capacity.peers);
  activity_.resize(capacity.peers);
  own_counts_.resize(capacity.places);
  fold_sources_.resize(capacity.fold_sources);
  if (capacity.reduces_peers) pieces_.reserve_for(capacity.fold_sources);
  version_ = version;
}

void Execution::assign(const Prepared& prepared, const Buffers& buffers, std::uint64_t number,
                       CallTag tag, bool is_run, std::span<const Counts> counts,
                       const Stages* stages) noexcept {
  const Program& program = prepared.program;
  prepared_ = &prepared;
  stages_ = stages;
  buffers_ = buffers;
  number_ = number;
  tag_ = tag;
  is_run_ = is_run;
  const auto places = static_cast<std::uint64_t>(program.places());
  past_caches_ = exceeds_caches(program.input_bytes() + program.output_bytes(), places);
  entered_ = false;
  for (IdList* list : {&ready_, &waiting_, &moving_, &active_}) list->clear();
  started_ = remote_active_ = 0;
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

void Execution::enter(std::size_t scratch_slot, std::byte* scratch,
                      std::uint32_t scratch_key) noexcept {
  const Program& program = prepared_->program;
  scratch_slot_ = scratch_slot;
  entered_ = true;
  bases_[0].memory = const_cast<std::byte*>(buffers_.input);  // plans never write inputs
  bases_[1].memory = buffers_.output;
  bases_[2] = {scratch, scratch_key, scratch_key};
  for (const int place : program.stages()) {
    const std::uint32_t key = stages_->key(place);
    bases_[program.stage_base(place)] = {stages_->half(place, number_), key, key};
  }
  for (const IncomingInline& message : program.incoming()) {
    bases_[message.base].memory = executor_.node_->inline_bytes(
        message.place, counts_[message.place].inline_in + message.ordinal);
  }
}

void Execution::release_initial() noexcept {
  for (const std::uint32_t id : prepared_->program.initial()) {
    // A step that waits for an earlier execution is made ready by that one.
    if (pending_[id] == 0) ready_.add(id);
  }
}

void Execution::run_through(std::uint32_t looks) noexcept {
  // List order is an order that the plan allows. When a step waits too long the rest is queued, as
  // other ranks may wait for steps that come later in the list.
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
      return step.deferred;
  }
  return false;
}

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
    if (pending_[id] == 0) ready_.add(id);
  }
  left_ -= first;
}

void Execution::let_follow(std::uint32_t last, Execution& later, std::uint32_t first) {
  if (pending_[last] == kNone) return;
  crossings_.push_back({last, &later, first});
  ++later.pending_[first];
}

void Execution::release(std::uint32_t id) noexcept {
  if (--pending_[id] == 0 && entered_) ready_.add(id);
}

void Execution::finish(std::uint32_t id) noexcept {
  --left_;
  const Program& program = prepared_->program;
  for (const std::uint32_t next : program.successors(program.steps()[id])) release(next);
}

void Execution::advance() noexcept {
  while (started_ != ready_.size()) start(ready_[started_++]);
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
        waiting_.add(id);
      }
      break;
    case OpKind::send:
    case OpKind::recv:
      step.deferred ? finish(id) : transfer(step, id);
      break;
  }
  if (step.next != kNone) release(step.next);
  for (const Crossing& crossing : crossings_) {
    if (crossing.last == id) crossing.later->release(crossing.first);
  }
}

void Execution::signal(const Step& step) noexcept {
  const auto place = static_cast<int>(step.peer);
  if (step.is_inline) {
    const Operand& src = step.src;
    executor_.node_->send_inline(
        place, counts_[step.peer].inline_out + step.ordinal, tag_.digest,
        {bases_[src.base].memory + src.offset, src.block_bytes, src.count, src.stride, 0});
  } else {
    executor_.node_->signal(place, number_, tag_.digest);
  }
}

bool Execution::has_come(const Step& step) noexcept {
  const NodeControl& node = *executor_.node_;
  const auto place = static_cast<int>(step.peer);
  if (step.is_inline) {
    const std::uint64_t sequence = counts_[step.peer].inline_in + step.ordinal;
    const std::uint64_t header = node.inline_header(place, sequence);
    if (header == NodeControl::header(sequence, tag_.digest)) [[likely]]
      return true;
    return static_cast<std::uint32_t>(header) == static_cast<std::uint32_t>(sequence) &&
           is_of_this_call(static_cast<std::uint32_t>(header >> 32), step);
  }
  return node.signals_from(place) >= counts_[step.peer].waits + step.ordinal &&
         is_of_this_call(node.digest_from(place, number_), step);
}

bool Execution::is_of_this_call(std::uint32_t digest, const Step& step) noexcept {
  if (digest == tag_.digest) [[likely]]
    return true;
  executor_.disagree_with(executor_.node_->rank_at(static_cast<int>(step.peer)));
  return false;
}

void Execution::find_mismatch() noexcept {
  const auto& steps = prepared_->program.steps();
  for (const std::uint32_t id : waiting_) {
    const Step& step = steps[id];
    const auto place = static_cast<int>(step.peer);
    if (executor_.node_->completed_by(place) < number_ || has_come(step)) continue;
    return executor_.disagree_with(executor_.node_->rank_at(place));
  }
  for (const std::uint32_t peer : active_) {
    if (is_past(peer)) return executor_.disagree_with(prepared_->ranks[peer]);
  }
}

/// Whether a peer on another node has gone on to a later call without a message of this one. What
/// it had sent before it said so has arrived.
bool Execution::is_past(std::uint32_t peer) noexcept {
  verbs::Channel& channel = *prepared_->channels[peer];
  if (channel.find_mismatch()) return true;
  const bool is_ahead = CallTag::of(channel.peer_call()).number > tag_.number;
  if (!is_ahead || channel.progress() == verbs::Status::failed) return false;
  if (channel.is_replaying()) return false;
  const auto& steps = prepared_->program.steps();
  for (const std::uint32_t id : moving_) {
    const Step& step = steps[id];
    const verbs::Transfer& transfer = transfers_[step.ordinal];
    if (step.peer != peer || transfer.done) continue;
    // The end of what this rank has sent may not be known here yet.
    if (step.kind == OpKind::recv || !transfer.announced) return true;
  }
  return false;
}

bool Execution::progress() noexcept {
  const bool waits = progress_waits();
  return (!moving_.empty() && progress_channels()) || waits;
}

bool Execution::progress_waits() noexcept {
  const auto& steps = prepared_->program.steps();
  bool moved = false;
  for (std::size_t i = 0; i < waiting_.size();) {
    const std::uint32_t id = waiting_[i];
    if (!has_come(steps[id])) {
      ++i;
      continue;
    }
    waiting_.remove_at(i);
    finish(id);
    moved = true;
  }
  return moved;
}

int Execution::awaited_place() const noexcept {
  if (!moving_.empty() || waiting_.empty()) return -1;
  return static_cast<int>(prepared_->program.steps()[waiting_[0]].peer);
}

namespace {
board::Link link_of(const verbs::Channel& channel) noexcept {
  const auto state = channel.link_state();
  constexpr std::uint64_t kMost = UINT16_MAX;
  return {static_cast<std::uint8_t>(channel.slots_under_way()),
          static_cast<std::uint8_t>(state.queue_pairs), static_cast<std::uint8_t>(state.ready),
          static_cast<std::uint16_t>(std::min(state.requests, kMost)),
          static_cast<std::uint32_t>(state.reconnections)};
}
}  // namespace

void Execution::post_waits(board::Poster& poster) const noexcept {
  const auto& steps = prepared_->program.steps();
  // The messages first: a signal mostly comes from a rank that waits for one itself.
  for (const std::uint32_t id : moving_) {
    const Step& step = steps[id];
    const bool sends = step.kind == OpKind::send;
    const Operand& ours = sends ? step.src : step.dst;
    const verbs::Channel& channel = *prepared_->channels[step.peer];
    const bool is_local = executor_.links_.is_local(prepared_->ranks[step.peer]);
    poster.add_wait(
        sends ? board::WaitKind::send : board::WaitKind::recv,
        (is_local ? 0 : board::kOverDevice) | (channel.is_replaying() ? board::kBroken : 0), id,
        prepared_->ranks[step.peer], ours.bytes(), transfers_[step.ordinal].moved,
        link_of(channel));
  }
  for (const std::uint32_t id : waiting_) {
    poster.add_wait(board::WaitKind::signal, 0, id,
                    executor_.node_->rank_at(static_cast<int>(steps[id].peer)), 0, 0);
  }
}

std::string Execution::describe_waits() const {
  std::string text;
  const auto& steps = prepared_->program.steps();
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < std::min(waiting_.size(), kShown); ++i) {
    text += fmt::format(", op {} waits for rank {}", waiting_[i],
                        executor_.node_->rank_at(static_cast<int>(steps[waiting_[i]].peer)));
  }
  for (std::size_t i = 0; i < std::min(moving_.size(), kShown); ++i) {
    const Step& step = steps[moving_[i]];
    text += fmt::format(", op {} {} rank {}", moving_[i],
                        step.kind == OpKind::send ? "sends to" : "receives from",
                        prepared_->ranks[step.peer]);
  }
  return text;
}

}  // namespace weft::engine
