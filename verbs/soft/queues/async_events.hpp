// Asynchronous events: the queue of a context, and their acknowledgement.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <map>
#include <mutex>

#include "base/file.hpp"

namespace weft::soft {

/// The queue behind ibv_get_async_event. Events of one object are handed out before the object is
/// destroyed, or dropped.
struct AsyncEvents {
  AsyncEvents();

  void raise(ibv_event_type type, void* element) noexcept;
  void raise_port(ibv_event_type type, int port) noexcept;
  /// Waits for an event unless the descriptor is non-blocking. 0, or -1 and errno.
  int get(ibv_async_event& event) noexcept;
  /// Drops the queued events of `element`; returns how many of its events were handed out.
  unsigned forget(void* element) noexcept;

  File descriptor;

 private:
  void enqueue(const ibv_async_event& event) noexcept;

  std::mutex mutex_;
  std::deque<ibv_async_event> queue_;
  std::map<void*, unsigned> handed_out_;
};

void ack_async_event(ibv_async_event* event) noexcept;

/// Before an object is destroyed: waits until all of its events that were handed out are
/// acknowledged.
template <class Object>
void await_acknowledgement(AsyncEvents& events, Object& object, std::uint32_t& acknowledged) {
  const unsigned handed_out = events.forget(&object);
  ::pthread_mutex_lock(&object.mutex);
  while (acknowledged != handed_out) ::pthread_cond_wait(&object.cond, &object.mutex);
  ::pthread_mutex_unlock(&object.mutex);
}

}  // namespace weft::soft
