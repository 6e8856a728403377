#include "verbs/soft/queues/completion.hpp"

#include <sched.h>

#include <algorithm>

#include "verbs/soft/queues/runtime.hpp"
#include "verbs/soft/segment/clock.hpp"

namespace weft::soft {

namespace {

/// Some ten microseconds of polling.
constexpr unsigned kPollsBeforeYield = 512;

void fill(ibv_wc& wc, const Cqe& entry, const ControlSegment& segment) noexcept {
  wc = {};
  wc.wr_id = entry.wr_id;
  wc.status = static_cast<ibv_wc_status>(entry.status);
  wc.opcode = static_cast<ibv_wc_opcode>(entry.opcode);
  wc.byte_len = entry.byte_len;
  wc.imm_data = entry.imm_data;
  wc.qp_num = qp_number(segment.header().slot, entry.qp);
  wc.src_qp = entry.src_qp;
  wc.wc_flags = entry.wc_flags;
  wc.slid = entry.slid;
  wc.sl = entry.sl;
}

/// Disarms a CQ that has what it is armed for: a completion, neither polled nor covered by an
/// earlier event. Gives the channel to raise an event on, or 0. The caller holds the CQ's lock.
std::uint32_t take_notification(CqBlock& cq) noexcept {
  const std::uint64_t seen = std::max(cq.head.load(std::memory_order_acquire), cq.notified);
  const std::uint64_t tail = cq.tail.load(std::memory_order_relaxed);
  const bool due = (cq.armed == kArmedAny && tail > seen) ||
                   (cq.armed == kArmedSolicited && cq.last_solicited > seen);
  if (!due) return 0;
  cq.armed = kArmedNot;
  cq.notified = tail;
  cq.events.fetch_add(1, std::memory_order_relaxed);
  return cq.channel;
}

}  // namespace

void push_completion(Peer& peer, std::uint32_t index, const Cqe& entry, bool solicited) noexcept {
  const ControlSegment& segment = peer.segment();
  CqBlock& cq = segment.cq(index);
  std::uint32_t channel = 0;
  bool lost = false;
  {
    // A holder that died between writing an entry and moving the tail leaves nothing to repair.
    RobustGuard lock(cq.lock);
    const std::uint64_t tail = cq.tail.load(std::memory_order_relaxed);
    if (tail - cq.head.load(std::memory_order_acquire) >= cq.capacity) {
      lost = cq.overflowed.exchange(1) == 0;
    } else {
      Cqe& place = segment.cqe(cq, tail);
      place = entry;
      if (cq.wants_timestamp != 0) place.timestamp_ns = static_cast<std::uint64_t>(now_ns());
      cq.tail.store(tail + 1, std::memory_order_release);
      if (solicited || entry.status != 0) cq.last_solicited = tail + 1;
      channel = take_notification(cq);
    }
  }
  if (channel != 0) peer.raise_event(channel);
  if (lost) segment.ring_doorbell();
}

bool holds_receive(const ControlSegment& segment, const CqBlock& cq, std::uint32_t qp,
                   std::uint64_t sequence) noexcept {
  const std::uint64_t tail = cq.tail.load(std::memory_order_acquire);
  for (std::uint64_t at = cq.head.load(std::memory_order_acquire); at < tail; ++at) {
    const Cqe& entry = segment.cqe(cq, at);
    if (entry.qp == qp && entry.receive != 0 && entry.sequence == sequence) return true;
  }
  return false;
}

void purge_completions(Cq& cq, std::uint32_t qp) noexcept {
  const ControlSegment& segment = of(cq.context).process->segment();
  std::lock_guard consumer(cq.consumer_mutex);
  RobustGuard producers(cq.block->lock);
  const std::uint64_t tail = cq.block->tail.load(std::memory_order_relaxed);
  for (std::uint64_t at = cq.block->head.load(std::memory_order_relaxed); at < tail; ++at) {
    Cqe& entry = segment.cqe(*cq.block, at);
    if (entry.qp == qp) entry.qp = kNone;
  }
}

bool take_completion(Cq& cq, Cqe& entry) noexcept {
  const ControlSegment& segment = of(cq.context).process->segment();
  CqBlock& block = *cq.block;
  std::uint64_t head = block.head.load(std::memory_order_relaxed);
  const std::uint64_t tail = block.tail.load(std::memory_order_acquire);
  while (head < tail) {
    entry = segment.cqe(block, head);
    ++head;
    if (entry.qp == kNone) {
      block.head.store(head, std::memory_order_release);
      continue;
    }
    // Marked as polled before the entry may be overwritten: a repair after a death finds the entry
    // or the mark.
    QpBlock& qp = segment.qp(entry.qp);
    Shared64& polled = entry.receive != 0 ? qp.receives_polled : qp.sends_polled;
    polled.store(entry.sequence + 1, std::memory_order_release);
    block.head.store(head, std::memory_order_release);
    return true;
  }
  return false;
}

bool progress_completions(Cq& cq) noexcept {
  // No adapter works while this program spins: another thread does the work, and may need this
  // core.
  if (cq.empty_polls.fetch_add(1, std::memory_order_relaxed) % kPollsBeforeYield == 0) {
    ::sched_yield();
  }
  Runtime& runtime = *of(cq.context).runtime;
  bool worked = false;
  if (runtime.process().segment().header().attention.load(std::memory_order_relaxed) != 0) {
    runtime.serve_attention();
    worked = true;
  }
  if (cq.queued_qps.load(std::memory_order_relaxed) != 0) {
    runtime.retry_sends(cq);
    worked = true;
  }
  return worked;
}

int poll_cq(ibv_cq* public_cq, int count, ibv_wc* wc) noexcept {
  Cq& cq = of(public_cq);
  const ControlSegment& segment = of(cq.context).process->segment();
  const auto drain = [&] {
    std::lock_guard lock(cq.consumer_mutex);
    int taken = 0;
    Cqe entry;
    while (taken < count && take_completion(cq, entry)) fill(wc[taken++], entry, segment);
    return taken;
  };
  const int taken = drain();
  if (taken > 0 || count <= 0) {
    cq.empty_polls.store(1, std::memory_order_relaxed);
    return taken;
  }
  return progress_completions(cq) ? drain() : 0;
}

int req_notify_cq(ibv_cq* public_cq, int solicited_only) noexcept {
  Cq& cq = of(public_cq);
  std::uint32_t channel = 0;
  {
    RobustGuard lock(cq.block->lock);
    if (solicited_only == 0) {
      cq.block->armed = kArmedAny;
    } else if (cq.block->armed == kArmedNot) {
      cq.block->armed = kArmedSolicited;
    }
    // As adapters do, which are told with the request what was polled: a completion that came
    // between the last poll and the request raises its event now. Programs rely on it.
    channel = take_notification(*cq.block);
  }
  if (channel != 0) of(cq.context).process->self()->raise_event(channel);
  return 0;
}

}  // namespace weft::soft
