// Progress of requests: how many are under way, and a thread that moves them on while the caller
// computes.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/give_way.hpp"
#include "engine/node/doorbell.hpp"
#include "engine/run/executor.hpp"
#include "engine/run/turn.hpp"

namespace weft::comm {

/// Progress thread. It and the caller's thread take turns. The thread asks for its turn only
/// between wake() and rest(), or until nothing is under way; otherwise it sleeps.
///
/// Each time it lets requests progress once. While that moves nothing it backs off: it looks again
/// at once a few times if it `may_spin`, then sleeps longer each time, 50 us at most, as nothing
/// tells it that a message has come.
///
/// A child of fork() has no such thread: there nothing is waited for.
class ProgressThread {
 public:
  /// std::system_error when there can be no more threads.
  ProgressThread(engine::Executor& executor, engine::Turn& turn, bool may_spin);
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ~ProgressThread();

  // By the caller's thread, which has the turn:
  /// Something is under way.
  void wake() noexcept;
  /// Nothing is under way: the thread does not ask for its turn any more.
  void rest() noexcept { is_at_work_.store(false, std::memory_order_seq_cst); }
  /// Until this is false again the caller is in a call, and gives its turn back there.
  void set_caller_waits(bool waits) noexcept {
    caller_waits_.store(waits, std::memory_order_relaxed);
  }

 private:
  void run() noexcept;
  engine::Executor::Help take_turn() noexcept;
  void back_off() noexcept;

  engine::Executor& executor_;
  engine::Turn& turn_;
  const bool may_spin_;
  std::atomic<bool> is_at_work_{false};
  std::atomic<bool> ends_{false};
  std::atomic<bool> caller_waits_{false};
  engine::Doorbell bell_;         // wakes the thread
  std::uint32_t idle_turns_ = 0;  // the thread's
  std::thread thread_;
};

/// The turns of a communicator's executor, and its requests that are under way. For the caller's
/// thread.
class RequestProgress {
 public:
  /// `is_shared`: other threads than the one for requests ask for turns, too.
  RequestProgress(engine::Executor& executor, engine::Turn& turn, bool may_spin, bool is_shared)
      : executor_(executor), turn_(turn), may_spin_(may_spin), is_shared_(is_shared) {}

  /// From now on a thread moves requests on. std::system_error where there can be none.
  void start_thread() {
    if (thread_ == nullptr) {
      thread_ = std::make_unique<ProgressThread>(executor_, turn_, may_spin_);
    }
  }

  // The caller's turn.
  void lock() noexcept {
    turn_.lock();
    has_turn_ = true;
  }
  void unlock() noexcept {
    has_turn_ = false;
    turn_.unlock();
  }
  /// While the result lives other threads touch nothing.
  std::unique_lock<RequestProgress> exclusive() {
    const bool is_alone = thread_ == nullptr && !is_shared_;
    return is_alone ? std::unique_lock<RequestProgress>() : std::unique_lock(*this);
  }
  /// Whether the executor may be used only under exclusive().
  bool needs_turn() const noexcept { return is_shared_ || thread_may_run_; }

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

  // A call on a fiber, which waits in the executor without its thread. Under exclusive().
  /// The thread moves on what the call has begun until it goes on.
  void give_way() noexcept {
    if (!has_turn_) {
      weft::give_way();
      return;
    }
    wake_thread();
    unlock();
    weft::give_way();
    lock();
  }
  /// The call is over.
  void end_call() noexcept {
    if (thread_ != nullptr && under_way_ == 0) rest();
  }

 private:
  friend class Handover;
  void rest() noexcept {
    thread_->rest();
    thread_may_run_ = false;
  }

  engine::Executor& executor_;
  engine::Turn& turn_;
  bool may_spin_;
  bool is_shared_;
  bool has_turn_ = false;
  bool thread_may_run_ = false;
  std::size_t under_way_ = 0;
  std::unique_ptr<ProgressThread> thread_;
};

/// Handover of the executor to others, as long as this lives: for waits outside of it, in the
/// bootstrap. Another rank may come there only after a request of its own has ended, which may need
/// this rank; so where requests are under way a thread moves them on, the one for requests, or
/// where there is none one for this occasion. And a turn that the caller has it gives back.
/// std::system_error where there can be no more threads.
class Handover {
 public:
  explicit Handover(RequestProgress& requests) : requests_(requests) {
    if (requests.under_way_ != 0 && requests.thread_ == nullptr) {
      helper_.emplace(requests.executor_, requests.turn_, requests.may_spin_);
    }
    set_caller_waits(!gives_way());
    if (helper_) helper_->wake();
    if (had_turn_) requests.unlock();
  }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;
  ~Handover() {
    helper_.reset();
    if (had_turn_) requests_.lock();
    set_caller_waits(false);
  }

 private:
  void set_caller_waits(bool waits) noexcept {
    if (helper_) helper_->set_caller_waits(waits);
    if (requests_.thread_ != nullptr) requests_.thread_->set_caller_waits(waits);
  }

  RequestProgress& requests_;
  const bool had_turn_ = requests_.has_turn_;
  std::optional<ProgressThread> helper_;
};

}  // namespace weft::comm
