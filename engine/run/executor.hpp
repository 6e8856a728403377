// Executor: runs programs, each one rank's part of a collective, over shared memory and channels.
//
// Executions are numbered from 1 in the order of the calls, which is the same on all ranks. Several
// may be under way on a rank, and the ranks of a node are not at the same one. An execution
// *enters* when it begins to touch what the node shares; `Executor::may_enter()` says when it may.
// A rank has *completed* number k when k and all before it are done there; it writes this down,
// release, where its neighbours read it, acquire (Node::complete(), Node::completed_by()).
//
// What is used again and again:
// - The stages of each rank, and the words that say where its callers' buffers lie, have two
//   halves. Execution n uses half n mod 2 of all of them, after execution n - 2.
// - Bytes that ride on signals lie in a ring at the receiver. It holds what a rank may send in
//   `Node::ahead()` executions, so those of n overwrite at most those of n - ahead(), which is 2 or
//   more.
// - Scratch memory is the rank's own: two slots, for the two executions that may have entered.
// - Signals and the counts of completed executions only grow: nothing of them is used twice.
//
// Execution n may enter on a rank when
// 1. all before it have entered there, and those up to n - 2 are done there; and
// 2. if it touches stages or neighbours' buffers: every rank of the node has completed n - 2.
//    If it only signals: every rank of the node has completed n - ahead(). Else nothing more.
//
// Why nothing is overwritten that is still in use: a rank touches memory for execution k only
// between entering k and being done with it. By 1, what n - 2 and earlier executions did with the
// rank's own scratch is over. By 2, every reader and writer of the half or the place in the ring
// that n is about to use is done with it, and reading the count makes that visible.
//
// Rule 2 without reading counts (`heard_all_`, `was_run_`): n may also enter where
// a. n - 1 is done here, and its program waited for something from every neighbour: a signal or a
//    message that the neighbour sends in its own n - 1; and
// b. n - 2 was run and not started. That is the same on all ranks.
// By a, each neighbour had entered n - 1 when it sent, so by rule 1 it was done with all up to
// n - 3. By b, its call of n - 2 had returned before it made the call of n - 1, so it was done with
// n - 2, too: it had completed n - 2. What was heard was written with release after that, and read
// with acquire here. A started execution tells nothing of the kind: its call returns at once, and
// n - 1 may enter, and send, while it goes on.
//
// Why no rank waits for ever to enter: let n be the first execution that some rank has not
// completed. All before it are completed everywhere, so both rules let n enter on every rank, and
// its plans end once all ranks run them (plan/verify/deadlock.cpp). By induction every execution
// that all ranks call is completed.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/node/node.hpp"
#include "engine/node/stages.hpp"
#include "engine/run/execution.hpp"
#include "engine/run/links.hpp"
#include "engine/run/program.hpp"

namespace weft::engine {

/// When what messages take from a buffer of the caller, or bring to it, is registered.
enum class Registering : std::uint8_t {
  nothing,  // no message goes straight from or to it
  whole,    // all of it, when the execution begins
  pieces,   // what a message takes when that one starts, while those before it are under way
};

/// A program with the channels that it uses, ready to run again and again.
struct Prepared {
  Program program;
  std::vector<int> ranks;                       // by index of the program's peers
  std::vector<verbs::Channel*> channels;        // likewise
  std::array<Registering, 2> registering = {};  // of input and output, as bases are numbered
  bool registers = false;                       // the whole of one of them
  std::uint64_t messages = 0;                   // over the device, in one execution
  std::uint64_t wire_bytes = 0;
};

/// What else a rank does while it waits. Each may be empty.
struct WhileWaiting {
  /// Where ranks share cores, instead of giving the core away once: whether it did anything.
  std::function<bool()> turn;
  std::function<void()> progress;  // after a millisecond, and often: moves on what others wait for
  std::function<void()> check;     // every second or so: throws when a rank is known to be gone
};

/// Everything that a rank's executions share. One thread at a time. The parts that it is given
/// outlive it.
///
/// Any number of executions may be started; two are under way at a time, as there are two halves of
/// stages and two of scratch memory, and the others wait for their turn, in order.
class Executor {
 public:
  /// `node` may be null where this rank is alone on its node. `crowded`: ranks outnumber the cores
  /// of this host, so waiting must not burn them. `timeout_ns` bounds the wait for progress; 0: no
  /// bound.
  Executor(int rank, Node* node, bool crowded, Links& links, WhileWaiting meanwhile,
           std::int64_t timeout_ns);
  ~Executor();

  /// The stages that programs may use; from the next execution on. Nothing is under way.
  void set_stages(Stages* stages) { stages_ = stages; }

  /// Memory that executions have as scratch, of both that may be under way.
  std::uint64_t scratch_bytes() const noexcept;

  /// Makes a program ready: channels to all of its peers must exist. Grows what executions need.
  Prepared prepare(Program program);

  /// Runs it on the caller's buffers. All ranks of the communicator run their programs of the same
  /// collective in the same order. False when it could not be finished: failure() says why, the
  /// peers have been told, and nothing can be run any more.
  bool run(const Prepared& prepared, const Buffers& buffers) noexcept;

  /// Begins it; `prepared` and the buffers stay as they are until it is done. What all ranks start,
  /// and not run, is the same. Null when there was a failure.
  Execution* start(const Prepared& prepared, const Buffers& buffers);
  /// Moves on what is under way, without waiting. Whether anything moved.
  bool progress() noexcept;
  /// The same by a thread beside the caller's, while that one uses nothing of this: a turn that now
  /// and then looks after the peers, too, but calls none of WhileWaiting.
  enum class Help { moved, nothing_moved, nothing_under_way };
  Help help() noexcept;
  /// Whether it is done; then it is not to be used any more. Moves nothing.
  bool take(Execution& execution) noexcept;
  /// Waits until it is done, and takes it. False as run().
  bool wait(Execution& execution) noexcept;
  /// Nothing is under way.
  bool is_idle() const noexcept { return under_way_.empty(); }

  const std::string& failure() const { return failure_; }
  /// This rank cannot go on, for a reason of its own: the peers are told.
  void give_up(std::string why) noexcept { fail(std::move(why)); }

 private:
  friend class Execution;

  Execution* run_through(const Prepared& prepared, const Buffers& buffers);
  Execution& begin(const Prepared& prepared, const Buffers& buffers, bool is_run);
  Execution& assign(const Prepared& prepared, const Buffers& buffers, bool is_run);
  void line_up();
  /// The number of the first execution that is not done, where there is one.
  std::uint64_t oldest() const noexcept {
    return under_way_.empty() ? started_ : under_way_.front()->number();
  }
  void count(const Program& program) noexcept;
  void order_behind_earlier(Execution& later);
  bool may_enter(const Execution& execution) noexcept;
  bool enter(Execution& execution) noexcept;
  bool register_buffers(Execution& execution) noexcept;
  /// What a message from or to a caller's buffer is to use.
  verbs::RegistrationCache::Keys register_memory(const std::byte* memory,
                                                 std::uint64_t bytes) noexcept;
  void retire_done() noexcept;
  void end_turn() noexcept;

  // executor_errand.cpp
  /// ours = theirs, or the reverse, of a rank of this node that is not reached otherwise.
  bool move_by_owner(int place, const verbs::Layout& ours, const verbs::Layout& theirs,
                     bool writes) noexcept;
  template <class Ready>
  bool serve_until(Ready ready) noexcept;

  // executor_wait.cpp
  /// One turn of waiting; false when there is nothing more to wait for.
  bool idle() noexcept;
  void sleep() noexcept;
  bool look_around() noexcept;
  bool look_after_peers(std::int64_t now) noexcept;
  bool time_out(std::int64_t now) noexcept;
  bool outside(const std::function<void()>& call) noexcept;
  std::size_t remote_active() const noexcept;
  std::string where() const;
  void fail(std::string text) noexcept;
  void tell_peers() noexcept;

  int rank_;
  Node* node_;
  bool crowded_;
  Links& links_;
  Stages* stages_ = nullptr;
  WhileWaiting meanwhile_;
  std::int64_t timeout_ns_;

  /// Memory that plans call scratch.
  struct Scratch {
    Segment memory;
    verbs::Registration registration;
  };
  void make_scratch(Scratch& scratch, std::size_t bytes);
  std::array<Scratch, 2> scratch_;  // the second for what is not alone under way
  std::vector<Scratch> outgrown_;   // as long as something is under way

  Room room_;  // for every program that was prepared
  std::uint64_t room_version_ = 0;
  std::vector<std::unique_ptr<Execution>> spare_;
  // In the order of their calls; without the one that runs through, which is the last of spare_.
  std::vector<std::unique_ptr<Execution>> under_way_;
  std::vector<std::unique_ptr<Execution>> done_;  // and not taken
  std::uint64_t started_ = 0;
  std::vector<Counts> counts_;            // by place: of the executions so far
  std::vector<std::uint64_t> completed_;  // by place: what others were known to have completed

  // For may_enter(), of executions that have entered:
  std::array<bool, 2> was_run_ = {};  // and not started: the last one of even and of odd number
  bool heard_all_ = false;            // the last one's program waits for every neighbour
  bool registered_ = false;           // buffers of what is under way

  std::uint32_t idle_turns_ = 0;
  std::int64_t idle_since_ns_ = 0;
  std::int64_t next_progress_ns_ = 0;
  std::int64_t next_look_ns_ = 0;
  std::int64_t next_probe_ns_ = 0;
  bool is_helped_ = false;  // it is another thread that calls
  std::string failure_;
};

}  // namespace weft::engine
