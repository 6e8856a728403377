// Call mutex: a mutex of what only threads that call the library touch.
#pragma once

#include <mutex>

namespace weft {

/// A mutex that is only a flag where one thread makes all calls: to take and give back one takes a
/// tenth of a short call. Not to be locked again by the thread that has it.
class CallMutex {
 public:
  void lock() {
    if (are_taken_) mutex_.lock();
    is_held_ = true;
  }
  bool try_lock() {
    if (are_taken_ ? !mutex_.try_lock() : is_held_) return false;
    is_held_ = true;
    return true;
  }
  void unlock() {
    is_held_ = false;
    if (are_taken_) mutex_.unlock();
  }

  /// For all of them, while none is held and no other thread calls. They are taken until this says
  /// otherwise.
  static void set_taken(bool are_taken) noexcept { are_taken_ = are_taken; }

 private:
  static inline constinit bool are_taken_ = true;

  std::mutex mutex_;
  bool is_held_ = false;
};

}  // namespace weft
