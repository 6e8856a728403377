// Pending call: a collective of the program that goes on after the program's function has returned.
//
// It is the code of the blocking call (mpi/calls) on a fiber, so what that can do a nonblocking
// call can: set-ups, packing, pieces, operations of the program. Wherever that code waits it gives
// way (base/give_way.hpp), and progress() goes on with it.
//
// The nonblocking calls of a communicator run one after the other, in the order in which they were
// started, which is the same on all ranks; communicators do not wait for one another, nor do
// persistent collectives (persistent.hpp). So a communicator's scratch memory serves one call at a
// time, ranks agree about set-ups in the same order as they do in blocking calls, and what is found
// out late to be the host's, on all ranks alike, comes to the host in one order. Whatever else is
// collective over a communicator begins when the nonblocking calls that are pending there are over:
// see drain().
//
// Any thread that is inside MPI may go on with a fiber, by one at a time: a thread that has started
// a call may leave its completion to another one. Nothing here knows requests of the host; whoever
// gives them to programs (requests.hpp) is told by PendingCall::then().
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "base/call_mutex.hpp"
#include "base/ticks.hpp"
#include "mpi/fibers/fiber.hpp"
#include "mpi/recording/recorder.hpp"
#include "mpi/requests/request_counts.hpp"
#include "mpi/requests/work.hpp"

namespace weft::mpi {

class PendingCall {
 public:
  /// `hands_back`: what is to be the host's when it starts is left to the caller of start().
  /// `others`: of its communicator, pending when it is made.
  PendingCall(std::shared_ptr<Work> work, bool hands_back, std::size_t others)
      : comm_(work->comm()), work_(std::move(work)), hands_back_(hands_back), others_(others) {}

  MPI_Comm comm() const noexcept { return comm_; }

  bool is_done() const noexcept { return is_done_.load(std::memory_order_acquire); }
  /// MPI's error code, once it is done.
  int code() const noexcept { return code_; }
  /// `call` is called once, when it is done: now, or by progress() in any thread. To be set once.
  void then(std::function<void()> call);

 private:
  friend class PendingQueue;

  bool resume(bool is_starting);
  void run() noexcept;
  bool may_repeat(Attached* attached) noexcept;
  void wait_for_host() noexcept;
  void end();
  void record() noexcept;

  MPI_Comm comm_;
  std::shared_ptr<Work> work_;
  const bool hands_back_;
  const std::size_t others_;
  std::optional<Fiber> fiber_;
  Held comm_kept_;  // of a call that has failed: its error handler is called later
  bool is_starting_ = false;
  bool is_for_host_ = false;
  int code_ = MPI_SUCCESS;
  const std::uint64_t began_ = Recorder::get() == nullptr ? 0 : ticks();
  std::optional<std::uint32_t> recorded_;  // its kind, once it is known
  CallMutex mutex_;                        // of the two below
  std::atomic<bool> is_done_{false};
  std::function<void()> then_;
};

/// Begins a collective on a communicator, which must be valid; never waits. Null: nothing was done,
/// and the host must run it (Work::start_at_host()), now; not if it `hands_back` nothing.
std::shared_ptr<PendingCall> start(std::shared_ptr<Work> work, bool hands_back = true);

// The functions below do nothing where no call is pending.

/// Goes on with what is pending, without waiting. True when a call has ended. To be called while a
/// rank waits in any call of MPI; does nothing on a fiber, nor inside of itself.
bool progress() noexcept;
/// Waits until no nonblocking call is pending on the communicator; before whatever else is
/// collective over it.
void drain_pending(MPI_Comm comm);
inline void drain(MPI_Comm comm) {
  if (is_any_pending()) drain_pending(comm);
}
/// Moves on until nothing is pending at all, or for a while: what is pending may wait for a rank
/// that waits for this one elsewhere. Before this rank waits where nothing moves weft on.
void drain_for_a_while();
/// Waits until nothing is pending at all; before the end of the world.
void drain_all();

}  // namespace weft::mpi
