// A thread that moves collectives on while their caller computes.
#pragma once

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "engine/node/waiting.hpp"
#include "engine/run/executor.hpp"

namespace weft::comm {

/// It and the caller's thread take turns: whoever holds the lock uses the executor and all that
/// belongs to it. It asks for the lock only between wake() and rest(), or until nothing is under
/// way; otherwise it sleeps, and the caller needs no lock.
///
/// It holds the lock for as long as one turn of progress takes. While a turn moves nothing it backs
/// off: it looks again at once a few times if it `may_spin`, then sleeps ever longer, 50 us at the
/// most, as nothing tells it that a message has come.
///
/// A child of fork() has no such thread: there nobody else uses the executor, and nothing is locked
/// or waited for.
class ProgressThread {
 public:
  /// std::system_error when there can be no more threads.
  ProgressThread(engine::Executor& executor, bool may_spin);
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ~ProgressThread();

  // By the caller's thread.
  void lock();
  void unlock();
  /// By who holds the lock: something is under way.
  void wake() noexcept;
  /// Likewise: nothing is, and once the lock is given back the executor is the caller's alone.
  void rest() noexcept { is_at_work_.store(false, std::memory_order_seq_cst); }

 private:
  bool is_here() const noexcept { return process_ == ::getpid(); }
  void run() noexcept;
  engine::Executor::Help take_turn() noexcept;
  void back_off() noexcept;

  engine::Executor& executor_;
  const pid_t process_ = ::getpid();
  const bool may_spin_;
  std::mutex mutex_;
  std::atomic<bool> is_wanted_{false};  // the lock, by the caller
  std::atomic<bool> is_at_work_{false};
  std::atomic<bool> ends_{false};
  engine::Doorbell bell_;         // that the thread sleeps by
  std::uint32_t idle_turns_ = 0;  // the thread's
  std::thread thread_;
};

}  // namespace weft::comm
