#include "verbs/soft/queues/send.hpp"

#include <array>
#include <cerrno>
#include <limits>

#include "verbs/soft/queues/async_events.hpp"
#include "verbs/soft/queues/completion.hpp"
#include "verbs/soft/queues/execute.hpp"
#include "verbs/soft/queues/receive.hpp"
#include "verbs/soft/queues/runtime.hpp"
#include "verbs/soft/segment/clock.hpp"

namespace weft::soft {

namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

/// The time to wait that the receiver advises, by its 5-bit code (InfiniBand specification, table
/// "Encoding for RNR NAK Timer Field"), in microseconds.
constexpr std::array<std::int64_t, 32> kRnrTimer_us = {
    655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
    480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
    20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_SEND;
  }
}

bool supports(ibv_qp_type type, ibv_wr_opcode opcode) {
  if (opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM) return true;
  return type == IBV_QPT_RC && opcode <= IBV_WR_ATOMIC_FETCH_AND_ADD;
}

void complete(Qp& qp, const ibv_send_wr& request, std::uint64_t sequence,
              const Outcome& outcome) noexcept {
  const bool signalled =
      qp.initial.sq_sig_all != 0 || (request.send_flags & IBV_SEND_SIGNALED) != 0;
  if (!signalled && outcome.status == IBV_WC_SUCCESS) return;
  Cqe entry{};
  entry.wr_id = request.wr_id;
  entry.sequence = sequence;
  entry.qp = qp.index;
  entry.status = outcome.status;
  entry.opcode = completion_opcode(request.opcode);
  entry.byte_len = outcome.byte_len;
  const Cq& cq = of(qp.qp_base.send_cq);
  push_completion(*of(qp.qp_base.context).process->self(), cq.index, entry, false);
}

void pop_queue(Qp& qp) noexcept {
  qp.queue.pop_front();
  qp.retry_until_ns = 0;
  if (qp.queue.empty()) --of(qp.qp_base.send_cq).queued_qps;
}

void flush_queue(Qp& qp) noexcept {
  while (!qp.queue.empty()) {
    complete(qp, qp.queue.front().request, qp.queue.front().sequence,
             {Verdict::done, IBV_WC_WR_FLUSH_ERR, 0});
    pop_queue(qp);
  }
}

/// Brings the QP to the state that follows a failed request.
void after_failure(Qp& qp, ibv_wc_status status) noexcept {
  if (qp.qp_base.qp_type == IBV_QPT_UD && status != IBV_WC_WR_FLUSH_ERR) {
    RobustGuard lock(qp.block->responder);
    qp.block->state = IBV_QPS_SQE;
  } else {
    enter_error(qp);
    if (qp.peer && qp.peer->dead()) {
      of(qp.qp_base.context).events->raise(IBV_EVENT_QP_FATAL, base(qp));
    }
  }
  flush_queue(qp);
}

int check(const Qp& qp, const ibv_send_wr& request) noexcept {
  const ibv_qp_cap& cap = qp.initial.cap;
  if (!supports(qp.qp_base.qp_type, request.opcode)) return EOPNOTSUPP;
  if (request.num_sge < 0 || static_cast<std::uint32_t>(request.num_sge) > cap.max_send_sge) {
    return EINVAL;
  }
  if (qp.qp_base.qp_type == IBV_QPT_UD && request.wr.ud.ah == nullptr) return EINVAL;
  if ((request.send_flags & IBV_SEND_INLINE) != 0) {
    std::uint64_t bytes = 0;
    for (int i = 0; i < request.num_sge; ++i) bytes += request.sg_list[i].length;
    const bool writes = request.opcode < IBV_WR_RDMA_READ;
    if (bytes > cap.max_inline_data || !writes) return EINVAL;
  }
  const std::uint64_t polled = qp.block->sends_polled.load(std::memory_order_acquire);
  return qp.posted - polled >= cap.max_send_wr ? ENOMEM : 0;
}

void enqueue(Qp& qp, const ibv_send_wr& request, std::uint64_t sequence, const Fault& fault) {
  qp.queue.push_back(copy_of(request, sequence));
  qp.queue.back().fault = fault;
  if (fault.delay_ns != 0) qp.queue.back().due_ns = now_ns() + fault.delay_ns;
  if (qp.queue.size() != 1) return;
  qp.retry_until_ns = 0;
  ++of(qp.qp_base.send_cq).queued_qps;
}

std::int64_t deadline_ns(const Qp& qp, Verdict verdict) noexcept {
  const std::int64_t now = now_ns();
  if (verdict == Verdict::busy) return kForever;
  if (verdict == Verdict::receiver_not_ready) {
    if (qp.attributes.rnr_retry == 7) return kForever;
    const QpBlock& target = qp.peer->segment().qp(index_of(qp.attributes.dest_qp_num));
    return now + kRnrTimer_us[target.min_rnr_timer & 31] * 1000 * qp.attributes.rnr_retry;
  }
  if (qp.attributes.timeout == 0) return kForever;
  // An adapter may take up to four times the timeout for each try.
  return now + (std::int64_t{4} * 4096 << qp.attributes.timeout) * (qp.attributes.retry_cnt + 1);
}

/// True when the first queued request was finished, with success or without.
bool try_first(Qp& qp) noexcept {
  QueuedSend& first = qp.queue.front();
  if (first.due_ns != 0 && now_ns() < first.due_ns) return false;
  Outcome outcome = first.fault ? execute_faulty(qp, first) : execute(qp, first.request);
  if (outcome.verdict != Verdict::done) {
    const int reason = static_cast<int>(outcome.verdict);
    if (qp.retry_until_ns == 0 || qp.retry_reason != reason) {
      qp.retry_until_ns = deadline_ns(qp, outcome.verdict);
      qp.retry_reason = reason;
    }
    if (now_ns() < qp.retry_until_ns) return false;
    outcome = {Verdict::done,
               outcome.verdict == Verdict::receiver_not_ready ? IBV_WC_RNR_RETRY_EXC_ERR
                                                              : IBV_WC_RETRY_EXC_ERR,
               0};
  }
  complete(qp, first.request, first.sequence, outcome);
  pop_queue(qp);
  if (outcome.status != IBV_WC_SUCCESS) after_failure(qp, outcome.status);
  return true;
}

}  // namespace

QueuedSend copy_of(const ibv_send_wr& request, std::uint64_t sequence) {
  QueuedSend copy{.request = request, .sequence = sequence, .sge = {}, .inline_data = {}};
  copy.request.next = nullptr;
  const bool is_inline = (request.send_flags & IBV_SEND_INLINE) != 0;
  if (is_inline) {
    for (int i = 0; i < request.num_sge; ++i) {
      const auto* data = reinterpret_cast<const std::byte*>(request.sg_list[i].addr);
      copy.inline_data.insert(copy.inline_data.end(), data, data + request.sg_list[i].length);
    }
    copy.sge.push_back({reinterpret_cast<std::uint64_t>(copy.inline_data.data()),
                        static_cast<std::uint32_t>(copy.inline_data.size()), 0});
  } else {
    copy.sge.assign(request.sg_list, request.sg_list + request.num_sge);
  }
  // Vectors keep their storage when they are moved, so these stay right.
  copy.request.sg_list = copy.sge.data();
  copy.request.num_sge = static_cast<int>(copy.sge.size());
  return copy;
}

int post_one(Qp& qp, const ibv_send_wr& request) noexcept {
  const std::uint32_t state = qp.block->state.load(std::memory_order_acquire);
  if (state < IBV_QPS_RTS) return EINVAL;
  if (const int error = check(qp, request)) return error;
  const std::uint64_t sequence = qp.posted;
  if (state == IBV_QPS_ERR || state == IBV_QPS_SQE) {
    ++qp.posted;
    complete(qp, request, sequence, {Verdict::done, IBV_WC_WR_FLUSH_ERR, 0});
    return 0;
  }
  const Context& context = of(qp.qp_base.context);
  const Fault fault = context.runtime->faults.next(qp.message_count);
  if (!fault && qp.queue.empty() && state == IBV_QPS_RTS) {
    const Outcome outcome = execute(qp, request);
    if (outcome.verdict == Verdict::done) {
      ++qp.posted;
      complete(qp, request, sequence, outcome);
      if (outcome.status != IBV_WC_SUCCESS) after_failure(qp, outcome.status);
      return 0;
    }
  }
  const bool first = qp.queue.empty();
  try {
    enqueue(qp, request, sequence, fault);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  ++qp.posted;
  if (first && fault) retry_queue(qp);
  if (first) context.process->wake_progress();
  return 0;
}

int post_send(ibv_qp* public_qp, ibv_send_wr* wr, ibv_send_wr** bad) noexcept {
  Qp& qp = of(public_qp);
  std::lock_guard lock(qp.send_mutex);
  if (qp.block->attention.load(std::memory_order_relaxed) != 0) handle_attention(qp);
  for (; wr != nullptr; wr = wr->next) {
    if (const int error = post_one(qp, *wr)) {
      *bad = wr;
      return error;
    }
  }
  return 0;
}

void retry_queue(Qp& qp) noexcept {
  while (!qp.queue.empty()) {
    const std::uint32_t state = qp.block->state.load(std::memory_order_acquire);
    const bool runs = state == IBV_QPS_RTS ||
                      (state == IBV_QPS_SQD && qp.queue.front().sequence < qp.drain_until);
    if (!runs || !try_first(qp)) break;
  }
  report_drained(qp);
}

void report_drained(Qp& qp) noexcept {
  if (qp.drained_reported || qp.block->state.load(std::memory_order_relaxed) != IBV_QPS_SQD) {
    return;
  }
  if (!qp.queue.empty() && qp.queue.front().sequence < qp.drain_until) return;
  qp.drained_reported = true;
  of(qp.qp_base.context).events->raise(IBV_EVENT_SQ_DRAINED, base(qp));
}

void enter_error(Qp& qp) noexcept {
  {
    RobustGuard lock(qp.block->responder);
    qp.block->state = IBV_QPS_ERR;
    flush_receives(*of(qp.qp_base.context).process->self(), *qp.block);
  }
  flush_queue(qp);
  if (qp.qp_base.srq != nullptr && !qp.last_wqe_reported) {
    qp.last_wqe_reported = true;
    of(qp.qp_base.context).events->raise(IBV_EVENT_QP_LAST_WQE_REACHED, base(qp));
  }
}

void handle_attention(Qp& qp) noexcept {
  const std::uint32_t wanted = qp.block->attention.exchange(0);
  if ((wanted & kFlush) != 0) enter_error(qp);
  AsyncEvents& events = *of(qp.qp_base.context).events;
  if ((wanted & kEstablishedEvent) != 0) events.raise(IBV_EVENT_COMM_EST, base(qp));
  if ((wanted & kAccessEvent) != 0) events.raise(IBV_EVENT_QP_ACCESS_ERR, base(qp));
  if ((wanted & kRequestEvent) != 0) events.raise(IBV_EVENT_QP_REQ_ERR, base(qp));
  if ((wanted & kFatalEvent) != 0) events.raise(IBV_EVENT_QP_FATAL, base(qp));
}

void fail_for_dead_peer(Qp& qp) noexcept {
  if (!qp.queue.empty()) {
    complete(qp, qp.queue.front().request, qp.queue.front().sequence,
             {Verdict::done, IBV_WC_RETRY_EXC_ERR, 0});
    pop_queue(qp);
  }
  enter_error(qp);
  of(qp.qp_base.context).events->raise(IBV_EVENT_QP_FATAL, base(qp));
}

void reset_qp(Qp& qp) noexcept {
  {
    RobustGuard lock(qp.block->responder);
    qp.block->state = IBV_QPS_RESET;
    qp.block->destination = 0;
    qp.block->taken = {};
    qp.block->established = 0;
    qp.block->attention = 0;
  }
  // No peer can add completions any more.
  while (!qp.queue.empty()) pop_queue(qp);
  purge_completions(of(qp.qp_base.send_cq), qp.index);
  if (qp.qp_base.recv_cq != qp.qp_base.send_cq) {
    purge_completions(of(qp.qp_base.recv_cq), qp.index);
  }
  qp.posted = 0;
  qp.block->sends_polled = 0;
  qp.block->receives_polled = 0;
  qp.peer.reset();
  qp.last_wqe_reported = false;
  std::lock_guard lock(qp.receive_mutex);
  qp.block->receives.head = 0;
  qp.block->receives.tail = 0;
}

}  // namespace weft::soft
