#include "verbs/soft/objects/objects.hpp"

#include <cerrno>

#include "verbs/soft/process/verb_error.hpp"
#include "verbs/soft/queues/receive.hpp"
#include "verbs/soft/queues/runtime.hpp"

namespace weft::soft {

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  const ibv_srq_attr& wanted = attributes->attr;
  if (wanted.max_wr == 0 || wanted.max_wr > kMaxWorkRequests || wanted.max_sge > kMaxSge) {
    throw VerbError(EINVAL);
  }
  Process& process = *of(pd->context).process;
  auto srq = std::make_unique<Srq>();
  const auto index = process.srq_indices.take();
  if (!index) throw VerbError(ENOMEM);
  SrqBlock& block = process.segment().srq(*index);
  try {
    process.file().commit(kSrqTable + *index * sizeof(SrqBlock), sizeof(SrqBlock));
    const bool first_use = block.ring.capacity == 0;
    set_up_ring(process, block.ring, wanted.max_wr, wanted.max_sge);
    if (first_use) block.lock.init();
  } catch (...) {
    process.srq_indices.give_back(*index);
    throw;
  }
  block.pd = pd->handle;
  block.taker = kNone;
  block.limit = 0;  // as verbs says: armed by modify only
  block.limit_reached = 0;
  srq->context = pd->context;
  srq->srq_context = attributes->srq_context;
  srq->pd = pd;
  srq->handle = *index;
  srq->index = *index;
  srq->block = &block;
  srq->max_wr = wanted.max_wr;
  ::pthread_mutex_init(&srq->mutex, nullptr);
  ::pthread_cond_init(&srq->cond, nullptr);
  of(pd->context).runtime->add(*srq);
  ++of(pd).users;
  return srq.release();
}

int modify_srq(ibv_srq* public_srq, ibv_srq_attr* attributes, int mask) noexcept {
  Srq& srq = of(public_srq);
  if ((mask & IBV_SRQ_MAX_WR) != 0) return EOPNOTSUPP;
  if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
  if ((mask & IBV_SRQ_LIMIT) != 0) {
    if (attributes->srq_limit > srq.max_wr) return EINVAL;
    srq.block->limit = attributes->srq_limit;
  }
  return 0;
}

int query_srq(ibv_srq* public_srq, ibv_srq_attr* attributes) noexcept {
  const Srq& srq = of(public_srq);
  attributes->max_wr = srq.max_wr;
  attributes->max_sge = srq.block->ring.max_sge;
  attributes->srq_limit = srq.block->limit;
  return 0;
}

int destroy_srq(ibv_srq* public_srq) noexcept {
  Srq& srq = of(public_srq);
  if (srq.users != 0) return EBUSY;
  Process& process = *of(srq.context).process;
  of(srq.context).runtime->remove(srq);
  tear_down_ring(process, srq.block->ring);
  process.srq_indices.give_back(srq.index);
  --of(srq.pd).users;
  delete &srq;
  return 0;
}

}  // namespace weft::soft
