// Robust lock: a mutex in memory shared between processes, which survives the death of its holder.
#pragma once

#include <pthread.h>

namespace weft::soft {

/// A process-shared robust mutex. The kernel hands it on when its holder dies at any instruction,
/// and the next holder is told, so that it can repair what the dead one left half done. It lies in
/// zeroed shared memory, is initialised once and never destroyed: peers may hold it at any time.
class RobustMutex {
 public:
  void init() noexcept;

  /// True when the previous holder died inside.
  [[nodiscard]] bool lock() noexcept {
    int result = ::pthread_mutex_trylock(&mutex_);
    if (result != 0) result = lock_contended(result);
    return result != 0;
  }
  void unlock() noexcept { ::pthread_mutex_unlock(&mutex_); }

 private:
  int lock_contended(int result) noexcept;

  pthread_mutex_t mutex_;
};

/// Holds a RobustMutex for a scope.
class RobustGuard {
 public:
  explicit RobustGuard(RobustMutex& mutex) noexcept : mutex_(mutex), holder_died_(mutex.lock()) {}
  RobustGuard(const RobustGuard&) = delete;
  RobustGuard& operator=(const RobustGuard&) = delete;
  ~RobustGuard() { mutex_.unlock(); }

  bool holder_died() const noexcept { return holder_died_; }

 private:
  RobustMutex& mutex_;
  bool holder_died_;
};

}  // namespace weft::soft
