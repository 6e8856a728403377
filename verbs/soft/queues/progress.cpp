// Progress between the calls of the program: retries of queued sends, flushes that peers asked for,
// deaths of peers. The progress thread makes it, and so does a poll that finds nothing.
#include <algorithm>
#include <ctime>

#include "verbs/soft/queues/async_events.hpp"
#include "verbs/soft/queues/runtime.hpp"
#include "verbs/soft/queues/send.hpp"
#include "verbs/soft/queues/verbs_objects.hpp"
#include "verbs/soft/segment/clock.hpp"

namespace weft::soft {

namespace {

/// Intervals between retries of waiting sends while the program does not poll: they grow from the
/// first to the last.
constexpr long kFirstRetry_ns = 100'000;
constexpr long kLastRetry_ns = 6'400'000;
/// A QP fails this long after the death of its peer, if its own timeout has not failed it before:
/// programs that exit without destroying their QPs must not spoil the last completions of the other
/// side.
constexpr std::int64_t kGrace_ns = 1'000'000'000;

bool lost_peer(const Qp& qp) noexcept {
  const std::uint32_t state = qp.block->state.load();
  return qp.peer && qp.peer->dead() &&
         (state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD);
}

/// True when the QP needs another look soon.
bool serve_qp(Qp& qp) noexcept {
  if (qp.block->attention.load() != 0) handle_attention(qp);
  if (lost_peer(qp) && now_ns() - qp.peer->died_at_ns() >= kGrace_ns) fail_for_dead_peer(qp);
  retry_queue(qp);
  return !qp.queue.empty() || lost_peer(qp);
}

}  // namespace

void Runtime::serve_attention() noexcept {
  SegmentHeader& header = process_.segment().header();
  if (header.attention.exchange(0) == 0) return;
  std::shared_lock lock(objects_mutex_);
  for (Cq* cq : cqs_) {
    if (cq->block->overflowed.load() == 0 || cq->error_reported.exchange(true)) continue;
    of(cq->context).events->raise(IBV_EVENT_CQ_ERR, base(*cq));
    for (Qp* qp : qps_) {
      if (qp->qp_base.send_cq == base(*cq) || qp->qp_base.recv_cq == base(*cq)) {
        qp->block->attention.fetch_or(kFlush | kFatalEvent);
      }
    }
  }
  for (Srq* srq : srqs_) {
    if (srq->block->limit_reached.exchange(0) != 0) {
      of(srq->context).events->raise(IBV_EVENT_SRQ_LIMIT_REACHED, srq);
    }
  }
  for (Qp* qp : qps_) {
    if (qp->block->attention.load() == 0) continue;
    // The holder of the lock may be waiting for a peer; this thread must not.
    std::unique_lock sends(qp->send_mutex, std::try_to_lock);
    if (sends) {
      handle_attention(*qp);
    } else {
      header.attention.store(1);
    }
  }
}

void Runtime::retry_sends(const Cq& cq) noexcept {
  std::shared_lock lock(objects_mutex_);
  for (Qp* qp : qps_) {
    if (&of(qp->qp_base.send_cq) != &cq) continue;
    std::unique_lock sends(qp->send_mutex, std::try_to_lock);
    if (sends && !qp->queue.empty()) retry_queue(*qp);
  }
}

bool Runtime::serve_queues() noexcept {
  std::shared_lock lock(objects_mutex_);
  bool again = process_.segment().header().attention.load() != 0;
  for (Qp* qp : qps_) {
    std::unique_lock sends(qp->send_mutex, std::try_to_lock);
    if (!sends || serve_qp(*qp)) again = true;
  }
  return again;
}

void Runtime::progress_loop() noexcept {
  timespec interval = {.tv_sec = 0, .tv_nsec = kFirstRetry_ns};
  for (;;) {
    const std::uint32_t heard = process_.doorbell();
    serve_attention();
    const bool ports = serve_ports();
    const bool again = serve_queues() || ports;
    // Delays of faults are to be kept exactly: no backing off.
    const bool back_off = again && !faults.any();
    interval.tv_nsec = back_off ? std::min(2 * interval.tv_nsec, kLastRetry_ns) : kFirstRetry_ns;
    process_.await_doorbell(heard, again ? &interval : nullptr);
  }
}

}  // namespace weft::soft
