// Progress of requests: how many are under way, and a thread that moves them on while the caller
// computes.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/give_way.hpp"
#include "engine/node/doorbell.hpp"
#include "engine/run/executor.hpp"

namespace weft::comm {

/// Progress thread. It and the caller's thread take turns: the holder of the lock uses the executor
/// and all that belongs to it. The thread asks for the lock only between wake() and rest(), or
/// until nothing is under way; otherwise it sleeps, and the caller needs no lock.
///
/// It holds the lock for one turn of progress. While a turn moves nothing it backs off: it looks
/// again at once a few times if it `may_spin`, then sleeps longer each time, 50 us at most, as
/// nothing tells it that a message has come.
///
/// A child of fork() has no such thread: there nothing else uses the executor, and nothing is
/// locked or waited for.
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
  /// Under the lock: something is under way.
  void wake() noexcept;
  /// Under the lock: nothing is under way, and after unlock() the executor is the caller's alone.
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
  std::atomic<bool> is_wanted_{false};  // the caller waits for the lock
  std::atomic<bool> is_at_work_{false};
  std::atomic<bool> ends_{false};
  engine::Doorbell bell_;         // wakes the thread
  std::uint32_t idle_turns_ = 0;  // the thread's
  std::thread thread_;
};

/// Handover of the executor to a progress thread, as long as this lives: for waits outside of it,
/// in the bootstrap. Another rank may come there only after a request of its own has ended, which
/// may need this rank. The thread is `thread`, whose lock the caller holds, or where that is null
/// one for this occasion. std::system_error where there can be no more threads.
class Handover {
 public:
  Handover(ProgressThread* thread, engine::Executor& executor, bool may_spin) : thread_(thread) {
    if (thread_ != nullptr) {
      thread_->unlock();
    } else {
      helper_.emplace(executor, may_spin).wake();
    }
  }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;
  ~Handover() {
    if (thread_ != nullptr) thread_->lock();
  }

 private:
  ProgressThread* thread_;
  std::optional<ProgressThread> helper_;
};

/// The requests of a communicator that are under way. For the caller's thread.
class RequestProgress {
 public:
  RequestProgress(engine::Executor& executor, bool may_spin)
      : executor_(executor), may_spin_(may_spin) {}

  /// From now on a thread moves requests on. std::system_error where there can be none.
  void start_thread() {
    if (thread_ == nullptr) thread_ = std::make_unique<ProgressThread>(executor_, may_spin_);
  }
  /// While the result lives the thread, if there is one, touches nothing.
  std::unique_lock<ProgressThread> exclusive() const {
    return thread_ == nullptr ? std::unique_lock<ProgressThread>() : std::unique_lock(*thread_);
  }
  /// Whether the executor may be used only under exclusive().
  bool thread_may_run() const noexcept { return thread_may_run_; }

  /// A request has begun.
  void add() noexcept { ++under_way_; }
  /// What requests have begun is there to be moved on.
  void wake_thread() noexcept {
    if (thread_ == nullptr) return;
    thread_may_run_ = true;
    thread_->wake();
  }
  /// A request is over.
  void remove() noexcept {
    if (--under_way_ == 0 && thread_ != nullptr) rest();
  }

  /// Where requests are under way they move on as long as `handover` has a value. On a fiber the
  /// caller may go on in another thread, so it gives back the lock for that time, too.
  void hand_over(std::optional<Handover>& handover) const {
    const bool gives_back = thread_ != nullptr && gives_way();
    if (under_way_ != 0 || gives_back) handover.emplace(thread_.get(), executor_, may_spin_);
  }

  // A call on a fiber, which waits in the executor without its thread. Under exclusive().
  /// The thread moves on what the call has begun until it goes on.
  void give_way() noexcept {
    if (thread_ == nullptr) {
      weft::give_way();
      return;
    }
    wake_thread();
    thread_->unlock();
    weft::give_way();
    thread_->lock();
  }
  /// The call is over.
  void end_call() noexcept {
    if (thread_ != nullptr && under_way_ == 0) rest();
  }

 private:
  void rest() noexcept {
    thread_->rest();
    thread_may_run_ = false;
  }

  engine::Executor& executor_;
  bool may_spin_;
  bool thread_may_run_ = false;
  std::size_t under_way_ = 0;
  std::unique_ptr<ProgressThread> thread_;
};

}  // namespace weft::comm
