// What goes on between the calls of the program: retries, flushes that peers asked for, the death
// of peers. The progress thread does it, and an idle poll does too.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "verbs/soft/process/clock.hpp"
#include "verbs/soft/process/objects.hpp"
#include "verbs/soft/process/process.hpp"
#include "verbs/soft/queues/async_events.hpp"
#include "verbs/soft/queues/qp.hpp"
#include "verbs/soft/queues/receive.hpp"
#include "verbs/soft/queues/send.hpp"

namespace weft::soft {

namespace {

/// How soon waiting sends are tried again while the program does not poll: less and less often.
constexpr long kFirstRetry_ns = 100'000;
constexpr long kLastRetry_ns = 6'400'000;
/// An idle QP whose peer died is given up after this time: programs that exit without destroying
/// their QPs must not spoil the last completions of the other side.
constexpr std::int64_t kIdleGrace_ns = 1'000'000'000;

bool lost_peer(const Qp& qp) noexcept {
  const std::uint32_t state = qp.block->state.load();
  return qp.peer && qp.peer->dead() &&
         (state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD);
}

/// True when the QP needs another look soon.
bool look_after(Qp& qp) noexcept {
  if (qp.block->attention.load() != 0) heed_attention(qp);
  if (lost_peer(qp)) {
    if (qp.queue.empty() && now_ns() - qp.peer->died_at_ns() < kIdleGrace_ns) return true;
    give_up_on_peer(qp);
  }
  retry_queue(qp);
  return !qp.queue.empty();
}

}  // namespace

void Process::add(Qp& qp) {
  std::lock_guard lock(objects_mutex_);
  qps_.push_back(&qp);
}
void Process::remove(Qp& qp) {
  std::lock_guard lock(objects_mutex_);
  std::erase(qps_, &qp);
}
void Process::add(Cq& cq) {
  std::lock_guard lock(objects_mutex_);
  cqs_.push_back(&cq);
}
void Process::remove(Cq& cq) {
  std::lock_guard lock(objects_mutex_);
  std::erase(cqs_, &cq);
}
void Process::add(Srq& srq) {
  std::lock_guard lock(objects_mutex_);
  srqs_.push_back(&srq);
}
void Process::remove(Srq& srq) {
  std::lock_guard lock(objects_mutex_);
  std::erase(srqs_, &srq);
}

void Process::abandon(Context& context) noexcept {
  std::lock_guard lock(objects_mutex_);
  std::erase_if(qps_, [&](Qp* qp) {
    if (&of(qp->qp_base.context) != &context) return false;
    std::lock_guard sends(qp->send_mutex);
    reset_qp(*qp);
    return true;
  });
  std::erase_if(cqs_, [&](const Cq* cq) { return &of(cq->context) == &context; });
  std::erase_if(srqs_, [&](const Srq* srq) { return &of(srq->context) == &context; });
}

void Process::quiesce() noexcept {
  std::shared_lock lock(objects_mutex_);
  for (Qp* qp : qps_) {
    { std::lock_guard sends(qp->send_mutex); }
    RobustGuard responder(qp->block->responder);
    if (responder.holder_died()) repair_receive(*self_, *qp->block);
  }
}

void Process::attend() noexcept {
  SegmentHeader& header = segment().header();
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
    // Whoever holds the lock may be waiting for a peer; this thread must not.
    std::unique_lock sends(qp->send_mutex, std::try_to_lock);
    if (sends) {
      heed_attention(*qp);
    } else {
      header.attention.store(1);
    }
  }
}

void Process::retry_sends(const Cq& cq) noexcept {
  std::shared_lock lock(objects_mutex_);
  for (Qp* qp : qps_) {
    if (&of(qp->qp_base.send_cq) != &cq) continue;
    std::unique_lock sends(qp->send_mutex, std::try_to_lock);
    if (sends && !qp->queue.empty()) retry_queue(*qp);
  }
}

void Process::wake_progress() noexcept {
  Shared32& bell = segment().header().doorbell;
  bell.fetch_add(1);
  if (progress_sleeps_.load()) {
    ::syscall(SYS_futex, &bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

bool Process::attend_queues() noexcept {
  std::shared_lock lock(objects_mutex_);
  bool again = segment().header().attention.load() != 0;
  for (Qp* qp : qps_) {
    std::unique_lock sends(qp->send_mutex, std::try_to_lock);
    if (!sends || look_after(*qp)) again = true;
  }
  return again;
}

void Process::progress_loop() noexcept {
  Shared32& bell = segment().header().doorbell;
  timespec interval = {.tv_sec = 0, .tv_nsec = kFirstRetry_ns};
  for (;;) {
    const std::uint32_t heard = bell.load();
    attend();
    const bool ports = attend_ports();
    const bool again = attend_queues() || ports;
    // Delays that were asked for want to be kept.
    const bool back_off = again && !faults.any();
    interval.tv_nsec = back_off ? std::min(2 * interval.tv_nsec, kLastRetry_ns) : kFirstRetry_ns;
    progress_sleeps_ = !again;
    ::syscall(SYS_futex, &bell, FUTEX_WAIT, heard, again ? &interval : nullptr, nullptr, 0);
    progress_sleeps_ = false;
  }
}

}  // namespace weft::soft
