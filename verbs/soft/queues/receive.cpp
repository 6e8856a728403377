#include "verbs/soft/queues/receive.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "verbs/soft/queues/completion.hpp"

namespace weft::soft {

namespace {

void copy_out(const ReceiveWqe& wqe, std::uint64_t sequence, Receive& receive) noexcept {
  receive.wr_id = wqe.wr_id;
  receive.sequence = sequence;
  receive.count = std::min(wqe.count, kMaxSge);
  std::copy_n(wqe.sge, receive.count, receive.sge.begin());
}

/// Notes the receive, then moves the head. A death in between shows by `sequence` == head.
void note_and_pop(ReceiveRing& ring, QpBlock& qp, const Receive& receive) noexcept {
  qp.taken.wr_id = receive.wr_id;
  qp.taken.sequence = receive.sequence;
  std::atomic_ref(qp.taken.valid).store(1, std::memory_order_release);
  ring.head.store(receive.sequence + 1, std::memory_order_release);
}

/// Called by the first process to lock an SRQ after a holder died: a receive that was noted as
/// taken but is still at the head was not taken.
void repair_srq(const ControlSegment& segment, SrqBlock& srq) noexcept {
  if (srq.taker == kNone) return;
  TakenReceive& taken = segment.qp(srq.taker).taken;
  if (taken.valid != 0 && taken.sequence == srq.ring.head.load()) taken.valid = 0;
}

bool take_from_srq(const ControlSegment& segment, QpBlock& qp, Receive& receive) noexcept {
  SrqBlock& srq = segment.srq(qp.srq);
  bool limit_reached = false;
  {
    RobustGuard lock(srq.lock);
    const std::uint64_t head = srq.ring.head.load(std::memory_order_relaxed);
    if (lock.holder_died()) repair_srq(segment, srq);
    const std::uint64_t tail = srq.ring.tail.load(std::memory_order_acquire);
    if (head == tail) return false;
    copy_out(segment.receive(srq.ring, head), head, receive);
    srq.taker = index_of(qp.number);
    note_and_pop(srq.ring, qp, receive);
    const std::uint32_t limit = srq.limit.load(std::memory_order_relaxed);
    if (limit != 0 && tail - head - 1 < limit) {
      srq.limit = 0;
      srq.limit_reached = 1;
      limit_reached = true;
    }
  }
  if (limit_reached) segment.ring_doorbell();
  return true;
}

void push_flushed(Peer& owner, QpBlock& qp, std::uint64_t wr_id, std::uint64_t sequence) noexcept {
  Cqe entry{};
  entry.wr_id = wr_id;
  entry.sequence = sequence;
  entry.qp = index_of(qp.number);
  entry.status = IBV_WC_WR_FLUSH_ERR;
  entry.opcode = IBV_WC_RECV;
  entry.receive = 1;
  push_completion(owner, qp.receive_cq, entry, false);
}

/// Appends one request to a ring; the caller serialises posters. 0 or errno.
int append(const ControlSegment& segment, ReceiveRing& ring, std::uint32_t max_wr,
           const ibv_recv_wr& wr) noexcept {
  if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > ring.max_sge) return EINVAL;
  const std::uint64_t tail = ring.tail.load(std::memory_order_relaxed);
  if (tail - ring.head.load(std::memory_order_acquire) >= max_wr) return ENOMEM;
  ReceiveWqe& wqe = segment.receive(ring, tail);
  wqe.wr_id = wr.wr_id;
  wqe.count = static_cast<std::uint32_t>(wr.num_sge);
  for (int i = 0; i < wr.num_sge; ++i) {
    wqe.sge[i] = {wr.sg_list[i].addr, wr.sg_list[i].length, wr.sg_list[i].lkey};
  }
  ring.tail.store(tail + 1, std::memory_order_release);
  return 0;
}

}  // namespace

bool take_receive(const ControlSegment& segment, QpBlock& qp, Receive& receive) noexcept {
  if (qp.srq != kNone) return take_from_srq(segment, qp, receive);
  const std::uint64_t head = qp.receives.head.load(std::memory_order_relaxed);
  if (head == qp.receives.tail.load(std::memory_order_acquire)) return false;
  copy_out(segment.receive(qp.receives, head), head, receive);
  note_and_pop(qp.receives, qp, receive);
  return true;
}

void repair_receive(Peer& owner, QpBlock& qp) noexcept {
  if (qp.taken.valid == 0) return;
  const ControlSegment& segment = owner.segment();
  if (qp.srq != kNone) {
    SrqBlock& srq = segment.srq(qp.srq);
    RobustGuard lock(srq.lock);
    if (lock.holder_died()) repair_srq(segment, srq);
    if (qp.taken.valid == 0) return;
  }
  const TakenReceive taken = qp.taken;
  const bool completed =
      qp.receives_polled.load(std::memory_order_acquire) == taken.sequence + 1 ||
      holds_receive(segment, segment.cq(qp.receive_cq), index_of(qp.number), taken.sequence);
  if (!completed) {
    if (qp.srq == kNone) {
      qp.receives.head.store(taken.sequence, std::memory_order_release);
    } else {
      push_flushed(owner, qp, taken.wr_id, taken.sequence);
    }
  }
  qp.taken.valid = 0;
}

void flush_receives(Peer& owner, QpBlock& qp) noexcept {
  repair_receive(owner, qp);
  if (qp.srq != kNone) return;
  const ControlSegment& segment = owner.segment();
  const std::uint64_t tail = qp.receives.tail.load(std::memory_order_acquire);
  for (std::uint64_t at = qp.receives.head.load(std::memory_order_relaxed); at < tail; ++at) {
    const std::uint64_t wr_id = segment.receive(qp.receives, at).wr_id;
    qp.receives.head.store(at + 1, std::memory_order_release);
    push_flushed(owner, qp, wr_id, at);
  }
}

void set_up_ring(Process& process, ReceiveRing& ring, std::uint32_t max_wr, std::uint32_t max_sge) {
  const std::uint32_t capacity = std::bit_ceil(std::max(max_wr, 1U));
  const auto stride =
      static_cast<std::uint32_t>(offsetof(ReceiveWqe, sge) + std::max(max_sge, 1U) * sizeof(Sge));
  ring.ring = process.file().allocate(std::size_t{capacity} * stride);
  ring.capacity = capacity;
  ring.stride = stride;
  ring.max_sge = max_sge;
  ring.head = 0;
  ring.tail = 0;
}

void tear_down_ring(Process& process, ReceiveRing& ring) noexcept {
  process.file().release(ring.ring, std::size_t{ring.capacity} * ring.stride);
}

int post_recv(ibv_qp* public_qp, ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept {
  Qp& qp = of(public_qp);
  const auto& self = of(qp.qp_base.context).process->self();
  int error = 0;
  {
    std::lock_guard lock(qp.receive_mutex);
    if (qp.qp_base.srq != nullptr || qp.block->state.load() == IBV_QPS_RESET) error = EINVAL;
    while (error == 0 && wr != nullptr) {
      error = append(self->segment(), qp.block->receives, qp.initial.cap.max_recv_wr, *wr);
      if (error == 0) wr = wr->next;
    }
  }
  if (error != 0) *bad = wr;
  if (qp.block->state.load() == IBV_QPS_ERR) {
    RobustGuard lock(qp.block->responder);
    flush_receives(*self, *qp.block);
  }
  return error;
}

int post_srq_recv(ibv_srq* public_srq, ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept {
  Srq& srq = of(public_srq);
  const ControlSegment& segment = of(srq.context).process->segment();
  std::lock_guard lock(srq.post_mutex);
  for (; wr != nullptr; wr = wr->next) {
    if (const int error = append(segment, srq.block->ring, srq.max_wr, *wr)) {
      *bad = wr;
      return error;
    }
  }
  return 0;
}

}  // namespace weft::soft
