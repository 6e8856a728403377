// Entry rule: the numbers of executions, and when each may begin to touch what the node shares.
//
// Executions are numbered from 1 in the order of the calls, which is the same on all ranks. Several
// may be under way on a rank, and the ranks of a node are not at the same one. An execution
// *enters* when it begins to touch what the node shares; `EntryRule::may_enter()` says when it may.
// A rank has *completed* number k when k and all before it are done there; it writes this down,
// release, where its neighbours read it, acquire (NodeControl::complete(),
// NodeControl::completed_by()).
//
// Memory that executions use in turns:
// - The stages of each rank, and the words that say where its callers' buffers lie, have two
//   halves. Execution n uses half n mod 2 of all of them, after execution n - 2.
// - Bytes that ride on signals lie in a ring at the receiver. It holds what a rank may send in
//   `NodeControl::ahead()` executions, so those of n overwrite at most those of n - ahead(), which
//   is 2 or more.
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
// Rule 2 without reading counts (`is_heard()`): n may also enter where
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
#include <cstdint>
#include <vector>

#include "engine/node/node_control.hpp"
#include "engine/program/program.hpp"

namespace weft::engine {

/// Of the executions of one rank.
class EntryRule {
 public:
  /// `node` may be null where this rank is alone on its node. It outlives this.
  explicit EntryRule(NodeControl* node)
      : node_(node), completed_(node == nullptr ? 1 : static_cast<std::size_t>(node->places())) {}

  /// The number of a new execution.
  std::uint64_t next() noexcept { return ++last_; }
  /// The next one has the number of the last one again.
  void repeat_last() noexcept { --last_; }
  std::uint64_t last() const noexcept { return last_; }

  /// Rules 1 and 2. `oldest`: the first execution that is not done here; the last one where all
  /// are.
  bool may_enter(std::uint64_t number, std::uint64_t oldest, const Program& program) noexcept;
  /// Rule 2, where all before it are done here. `is_shared`: it touches stages or neighbours'
  /// buffers.
  bool has_room(std::uint64_t number, bool is_shared) noexcept {
    return is_heard(number) || is_completed(number, is_shared);
  }
  /// It enters. `is_run`: and was not started. `hears_all`: its program waits for every neighbour.
  void enter(std::uint64_t number, bool is_run, bool hears_all) noexcept {
    was_run_[number & 1] = is_run;
    heard_all_ = hears_all;
  }

 private:
  /// Conditions a and b, where all before it are done here.
  bool is_heard(std::uint64_t number) const noexcept { return heard_all_ && was_run_[number & 1]; }
  /// Rule 2 by what the others have written down.
  bool is_completed(std::uint64_t number, bool is_shared) noexcept;

  NodeControl* node_;
  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> completed_;  // by place: what others were known to have completed
  // Of executions that have entered.
  std::array<bool, 2> was_run_ = {};  // the last one of even and of odd number
  bool heard_all_ = false;            // by the last one
};

}  // namespace weft::engine
