#include "verbs/soft/queues/async_events.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/error.hpp"
#include "base/log.hpp"

namespace weft::soft {

namespace {

bool concerns_port(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_DEVICE_FATAL:
      return true;
    default:
      return false;
  }
}

template <class Object>
void acknowledge(Object& object, std::uint32_t& count) noexcept {
  ::pthread_mutex_lock(&object.mutex);
  ++count;
  ::pthread_cond_signal(&object.cond);
  ::pthread_mutex_unlock(&object.mutex);
}

}  // namespace

AsyncEvents::AsyncEvents() : descriptor(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {
  if (!descriptor) throw_errno("eventfd");
}

void AsyncEvents::raise(ibv_event_type type, void* element) noexcept {
  ibv_async_event event{};
  event.event_type = type;
  event.element.qp = static_cast<ibv_qp*>(element);
  enqueue(event);
}

void AsyncEvents::raise_port(ibv_event_type type, int port) noexcept {
  ibv_async_event event{};
  event.event_type = type;
  event.element.port_num = port;
  enqueue(event);
}

void AsyncEvents::enqueue(const ibv_async_event& event) noexcept {
  {
    std::lock_guard lock(mutex_);
    try {
      queue_.push_back(event);
    } catch (const std::bad_alloc&) {
      log::warn("no memory for an asynchronous event: it is lost");
      return;
    }
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor.get(), &one, sizeof(one));
}

int AsyncEvents::get(ibv_async_event& event) noexcept {
  for (;;) {
    std::uint64_t count = 0;
    if (::read(descriptor.get(), &count, sizeof(count)) != sizeof(count)) return -1;
    std::lock_guard lock(mutex_);
    if (queue_.empty()) continue;  // its object was destroyed meanwhile
    event = queue_.front();
    queue_.pop_front();
    if (!concerns_port(event.event_type)) ++handed_out_[event.element.qp];
    return 0;
  }
}

unsigned AsyncEvents::forget(void* element) noexcept {
  std::lock_guard lock(mutex_);
  std::erase_if(queue_, [&](const ibv_async_event& event) {
    return !concerns_port(event.event_type) && event.element.qp == element;
  });
  const auto known = handed_out_.find(element);
  const unsigned count = known == handed_out_.end() ? 0 : known->second;
  if (known != handed_out_.end()) handed_out_.erase(known);
  return count;
}

void ack_async_event(ibv_async_event* event) noexcept {
  if (concerns_port(event->event_type)) return;
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      return acknowledge(*event->element.cq, event->element.cq->async_events_completed);
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return acknowledge(*event->element.srq, event->element.srq->events_completed);
    case IBV_EVENT_WQ_FATAL:
      return acknowledge(*event->element.wq, event->element.wq->events_completed);
    default:
      return acknowledge(*event->element.qp, event->element.qp->events_completed);
  }
}

}  // namespace weft::soft
