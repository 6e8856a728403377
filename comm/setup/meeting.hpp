// Where ranks wait for one another in their bootstrap.
#pragma once

#include <optional>

#include "comm/calls/progress_thread.hpp"

namespace weft::comm {

/// As long as this lives the executor is a progress thread's and not the caller's: a rank may come
/// to a meeting only after what it waits for has ended, which may need this rank. `thread`, whose
/// lock the caller holds, does it where there is one, else a thread for the occasion. Without
/// threads, as std::system_error tells, nobody.
class Meeting {
 public:
  Meeting(ProgressThread* thread, engine::Executor& executor, bool may_spin) : thread_(thread) {
    if (thread_ != nullptr) {
      thread_->unlock();
    } else {
      helper_.emplace(executor, may_spin).wake();
    }
  }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting() {
    if (thread_ != nullptr) thread_->lock();
  }

 private:
  ProgressThread* thread_;
  std::optional<ProgressThread> helper_;
};

}  // namespace weft::comm
