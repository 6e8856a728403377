#include "verbs/soft/objects/objects.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/error.hpp"
#include "verbs/soft/process/verb_error.hpp"
#include "verbs/soft/queues/runtime.hpp"
#include "verbs/soft/queues/verbs_objects.hpp"

namespace weft::soft {

namespace {

constexpr std::uint64_t kKnownWcFlags = std::uint64_t{IBV_WC_STANDARD_FLAGS} |
                                        IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                        IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

void set_up_block(Process& process, Cq& cq, const ibv_cq_init_attr_ex& attributes) {
  CqBlock& block = process.segment().cq(cq.index);
  const std::uint32_t capacity = std::bit_ceil(attributes.cqe);
  process.file().commit(kCqTable + cq.index * sizeof(CqBlock), sizeof(CqBlock));
  block.ring = process.file().allocate(capacity * sizeof(Cqe));
  // Table entries are reused; the lock of one is made once (capacity is 0 before that).
  if (block.capacity == 0) block.lock.init();
  block.capacity = capacity;
  block.channel = attributes.channel != nullptr ? of(attributes.channel).id : 0;
  block.armed = kArmedNot;
  block.wants_timestamp =
      (attributes.wc_flags &
       (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)) != 0;
  block.overflowed = 0;
  block.head = 0;
  block.tail = 0;
  block.events = 0;
  block.notified = 0;
  block.last_solicited = 0;
  cq.block = &block;
}

}  // namespace

ibv_cq_ex* create_cq(ibv_context* context, const ibv_cq_init_attr_ex& attributes) {
  if (attributes.cqe == 0 || attributes.cqe > kMaxCqe ||
      attributes.comp_vector >= static_cast<std::uint32_t>(context->num_comp_vectors)) {
    throw VerbError(EINVAL);
  }
  // The promises of the flags (one thread, no overrun) are accepted and not used.
  constexpr std::uint32_t kKnownFlags =
      IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  const bool has_flags = (attributes.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  if ((attributes.wc_flags & ~kKnownWcFlags) != 0 ||
      (has_flags && (attributes.flags & ~kKnownFlags) != 0) ||
      (attributes.comp_mask & ~static_cast<std::uint32_t>(IBV_CQ_INIT_ATTR_MASK_FLAGS)) != 0) {
    throw VerbError(EOPNOTSUPP);
  }
  Process& process = *of(context).process;
  auto cq = std::make_unique<Cq>();
  const auto index = process.cq_indices.take();
  if (!index) throw VerbError(ENOMEM);
  cq->index = *index;
  try {
    set_up_block(process, *cq, attributes);
  } catch (...) {
    process.cq_indices.give_back(*index);
    throw;
  }
  cq->context = context;
  cq->channel = attributes.channel;
  cq->cq_context = attributes.cq_context;
  cq->handle = *index;
  cq->cqe = static_cast<int>(cq->block->capacity);
  ::pthread_mutex_init(&cq->mutex, nullptr);
  ::pthread_cond_init(&cq->cond, nullptr);
  if (cq->channel != nullptr) {
    Channel& channel = of(cq->channel);
    std::lock_guard lock(channel.mutex);
    channel.cqs.push_back(cq.get());
    ++channel.refcnt;
  }
  of(context).runtime->add(*cq);
  ++of(context).users;
  return cq.release();
}

int destroy_cq(ibv_cq* public_cq) noexcept {
  Cq& cq = of(public_cq);
  Context& context = of(cq.context);
  if (cq.users != 0) return EBUSY;
  context.runtime->remove(cq);
  unsigned taken = 0;
  if (cq.channel != nullptr) {
    Channel& channel = of(cq.channel);
    std::lock_guard lock(channel.mutex);
    std::erase(channel.cqs, &cq);
    --channel.refcnt;
    taken = static_cast<unsigned>(cq.events_taken);
  }
  // As verbs promises: not before every event that was handed out is acknowledged.
  ::pthread_mutex_lock(&cq.mutex);
  while (cq.comp_events_completed != taken) ::pthread_cond_wait(&cq.cond, &cq.mutex);
  ::pthread_mutex_unlock(&cq.mutex);
  context.process->file().release(cq.block->ring, cq.block->capacity * sizeof(Cqe));
  context.process->cq_indices.give_back(cq.index);
  --context.users;
  delete &cq;
  return 0;
}

ibv_comp_channel* create_channel(ibv_context* context) {
  auto channel = std::make_unique<Channel>();
  // A semaphore: each event wakes one reader, and the descriptor stays readable while any is left.
  channel->event = File(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
  if (!channel->event) throw_errno("eventfd");
  channel->context = context;
  channel->fd = channel->event.get();
  channel->refcnt = 0;
  channel->id = of(context).process->publish_channel(channel->fd);
  ++of(context).users;
  return channel.release();
}

int destroy_channel(ibv_comp_channel* public_channel) noexcept {
  Channel& channel = of(public_channel);
  {
    std::lock_guard lock(channel.mutex);
    if (channel.refcnt != 0) return EBUSY;
  }
  Context& context = of(channel.context);
  context.process->withdraw_channel(channel.id);
  --context.users;
  delete &channel;
  return 0;
}

int get_cq_event(ibv_comp_channel* public_channel, ibv_cq** cq, void** context) noexcept {
  Channel& channel = of(public_channel);
  for (;;) {
    std::uint64_t count = 0;
    if (::read(channel.fd, &count, sizeof(count)) != sizeof(count)) return -1;
    std::lock_guard lock(channel.mutex);
    for (std::size_t i = 0; i < channel.cqs.size(); ++i) {
      Cq& candidate = *channel.cqs[i];
      if (candidate.block->events.load(std::memory_order_acquire) == candidate.events_taken) {
        continue;
      }
      ++candidate.events_taken;
      *cq = base(candidate);
      *context = candidate.cq_context;
      // The next search begins behind this CQ, so that a busy CQ does not starve the others.
      std::rotate(channel.cqs.begin(), channel.cqs.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                  channel.cqs.end());
      return 0;
    }
    // The event was of a destroyed CQ, or was raised twice because a peer died: wait for the next.
  }
}

void ack_cq_events(ibv_cq* cq, unsigned count) noexcept {
  ::pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  ::pthread_cond_signal(&cq->cond);
  ::pthread_mutex_unlock(&cq->mutex);
}

}  // namespace weft::soft
