// Turn: the right of a thread to use an executor, the links below it and all that belongs to them.
#pragma once

#include <unistd.h>

#include <atomic>

namespace weft::engine {

/// Turn. The caller's thread has it during a call; a thread that moves requests on, or one that
/// mends connections while the caller is elsewhere, between two calls or when the caller waits
/// outside of the executor. Those hold it briefly, and let a caller that waits go first.
///
/// In a child of fork() there are no such threads: nothing is waited for.
class Turn {
 public:
  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void lock() noexcept {
    if (!try_lock()) wait();
  }
  bool try_lock() noexcept { return !is_taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept {
    is_taken_.store(false, std::memory_order_seq_cst);  // before the look at who waits
    if (is_wanted()) is_taken_.notify_all();
  }
  /// Somebody waits in lock(): others should not try.
  bool is_wanted() const noexcept { return waiting_.load(std::memory_order_seq_cst) != 0; }
  /// Whether this process made it, and has the threads that use it.
  bool is_here() const noexcept { return process_ == ::getpid(); }

 private:
  void wait() noexcept {
    if (!is_here()) return;
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    while (is_taken_.exchange(true, std::memory_order_seq_cst)) {
      is_taken_.wait(true, std::memory_order_relaxed);
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }

  const pid_t process_ = ::getpid();
  std::atomic<bool> is_taken_{false};
  std::atomic<int> waiting_{0};
};

}  // namespace weft::engine
