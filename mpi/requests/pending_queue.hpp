// Pending queue: the calls of a communicator that are pending, in the order of their start.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "mpi/requests/pending_call.hpp"

namespace weft::mpi {

/// Safe from many threads.
class PendingQueue : public std::enable_shared_from_this<PendingQueue> {
 public:
  /// Null: the host must run it now.
  std::shared_ptr<PendingCall> start(std::shared_ptr<Work> work, bool hands_back);
  /// Goes on with the first calls, unless another thread does. True when one has ended.
  bool go_on();
  bool is_empty();
  /// As long as this is held, no call goes on.
  std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }

 private:
  std::mutex mutex_;
  std::deque<std::shared_ptr<PendingCall>> calls_;  // the first one is under way
};

}  // namespace weft::mpi
