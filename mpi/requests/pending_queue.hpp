// Pending queue: the calls of a communicator that are pending, in the order of their start.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "base/call_mutex.hpp"
#include "mpi/requests/pending_call.hpp"

namespace weft::mpi {

/// Safe from many threads. The host may begin collectives of its own while a fiber is in it, so
/// append() takes no part in who runs a fiber.
class PendingQueue : public std::enable_shared_from_this<PendingQueue> {
 public:
  /// Null: the host must run it now.
  std::shared_ptr<PendingCall> start(std::shared_ptr<Work> work, bool hands_back);
  /// Goes on with the first calls, unless another thread does. True when one has ended.
  bool go_on();
  /// Puts it behind what is pending; never runs it. Null: nothing is pending, and the caller must.
  /// Also inside of a call of this queue.
  std::shared_ptr<PendingCall> append(std::shared_ptr<Work> work);
  std::size_t size();
  bool is_empty() { return size() == 0; }
  /// As long as this is held, no call goes on.
  std::unique_lock<CallMutex> hold() { return std::unique_lock(running_); }

 private:
  std::shared_ptr<PendingCall> first();
  /// False, and nothing done, where it has to be behind others and there are none.
  bool push(std::shared_ptr<PendingCall> call, bool behind_others);

  CallMutex running_;                               // held by whoever runs a fiber
  CallMutex mutex_;                                 // of calls_; never while a fiber runs
  std::deque<std::shared_ptr<PendingCall>> calls_;  // the first one is under way
};

}  // namespace weft::mpi
