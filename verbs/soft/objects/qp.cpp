#include "verbs/soft/objects/objects.hpp"

#include <cerrno>

#include "verbs/soft/process/verb_error.hpp"
#include "verbs/soft/queues/async_events.hpp"
#include "verbs/soft/queues/receive.hpp"
#include "verbs/soft/queues/runtime.hpp"
#include "verbs/soft/queues/send.hpp"

namespace weft::soft {

namespace {

void check(const ibv_qp_init_attr& attributes) {
  const ibv_qp_cap& cap = attributes.cap;
  if (attributes.qp_type != IBV_QPT_RC && attributes.qp_type != IBV_QPT_UD) {
    throw VerbError(EOPNOTSUPP);
  }
  if (attributes.send_cq == nullptr || attributes.recv_cq == nullptr) throw VerbError(EINVAL);
  if (cap.max_send_wr > kMaxWorkRequests || cap.max_recv_wr > kMaxWorkRequests ||
      cap.max_send_sge > kMaxSge || cap.max_recv_sge > kMaxSge ||
      cap.max_inline_data > kMaxInlineBytes) {
    throw VerbError(EINVAL);
  }
}

void set_up_block(Process& process, Qp& qp, const ibv_pd& pd, const ibv_qp_init_attr& attributes) {
  process.file().commit(kQpTable + qp.index * sizeof(QpBlock), sizeof(QpBlock));
  QpBlock& block = process.segment().qp(qp.index);
  ReceiveRing ring{};
  if (attributes.srq == nullptr) {
    set_up_ring(process, ring, attributes.cap.max_recv_wr, attributes.cap.max_recv_sge);
  }
  const std::uint32_t number = qp_number(process.slot(), qp.index);
  // Table entries are reused; the lock of one is made once, before peers can see its number.
  if (block.number == 0) block.responder.init();
  {
    RobustGuard lock(block.responder);
    block.state = IBV_QPS_RESET;
    block.type = attributes.qp_type;
    block.destination = 0;
    block.device = of(pd.context).device;
    block.pd = pd.handle;
    block.receive_cq = of(attributes.recv_cq).index;
    block.srq = attributes.srq != nullptr ? of(attributes.srq).index : kNone;
    block.access = 0;
    block.established = 0;
    block.attention = 0;
    block.taken = {};
    block.receives_polled = 0;
    block.sends_polled = 0;
    block.receives.ring = ring.ring;
    block.receives.capacity = ring.capacity;
    block.receives.stride = ring.stride;
    block.receives.max_sge = ring.max_sge;
    block.receives.head = 0;
    block.receives.tail = 0;
  }
  std::atomic_ref(block.number).store(number, std::memory_order_release);
  qp.block = &block;
}

void count_users(Qp& qp, int change) noexcept {
  of(qp.qp_base.pd).users += change;
  of(qp.qp_base.send_cq).users += change;
  of(qp.qp_base.recv_cq).users += change;
  if (qp.qp_base.srq != nullptr) of(qp.qp_base.srq).users += change;
}

}  // namespace

ibv_qp* create_qp(ibv_pd* pd, const ibv_qp_init_attr& attributes, bool extended) {
  check(attributes);
  Process& process = *of(pd->context).process;
  auto qp = std::make_unique<Qp>();
  const auto index = process.qp_indices.take();
  if (!index) throw VerbError(ENOMEM);
  qp->index = *index;
  try {
    set_up_block(process, *qp, *pd, attributes);
  } catch (...) {
    process.qp_indices.give_back(*index);
    throw;
  }
  qp->message_count.qp = ++of(pd->context).runtime->qps_made;
  qp->extended = extended;
  qp->initial = attributes;
  if (attributes.srq != nullptr) qp->initial.cap.max_recv_wr = qp->initial.cap.max_recv_sge = 0;
  ibv_qp& shown = qp->qp_base;
  shown.context = pd->context;
  shown.qp_context = attributes.qp_context;
  shown.pd = pd;
  shown.send_cq = attributes.send_cq;
  shown.recv_cq = attributes.recv_cq;
  shown.srq = attributes.srq;
  shown.handle = *index;
  shown.qp_num = qp->block->number;
  shown.state = IBV_QPS_RESET;
  shown.qp_type = attributes.qp_type;
  ::pthread_mutex_init(&shown.mutex, nullptr);
  ::pthread_cond_init(&shown.cond, nullptr);
  count_users(*qp, 1);
  of(pd->context).runtime->add(*qp);
  return base(*qp.release());
}

int destroy_qp(ibv_qp* public_qp) noexcept {
  Qp& qp = of(public_qp);
  Context& context = of(qp.qp_base.context);
  context.runtime->remove(qp);
  {
    std::lock_guard lock(qp.send_mutex);
    reset_qp(qp);
  }
  await_acknowledgement(*context.events, qp.qp_base, qp.qp_base.events_completed);
  if (qp.qp_base.srq == nullptr) tear_down_ring(*context.process, qp.block->receives);
  context.process->qp_indices.give_back(qp.index);
  count_users(qp, -1);
  delete &qp;
  return 0;
}

int query_qp(ibv_qp* public_qp, ibv_qp_attr* attributes, ibv_qp_init_attr* initial) noexcept {
  Qp& qp = of(public_qp);
  std::lock_guard lock(qp.send_mutex);
  *attributes = qp.attributes;
  attributes->qp_state = static_cast<ibv_qp_state>(qp.block->state.load());
  attributes->cur_qp_state = attributes->qp_state;
  attributes->cap = qp.initial.cap;
  attributes->sq_draining = attributes->qp_state == IBV_QPS_SQD && !qp.queue.empty() &&
                            qp.queue.front().sequence < qp.drain_until;
  public_qp->state = attributes->qp_state;
  *initial = qp.initial;
  return 0;
}

}  // namespace weft::soft
