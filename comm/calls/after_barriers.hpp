// Calls after barriers: which rank of a communicator the others wait for in the call after each
// barrier, or which one waits for the others, where that is the same again and again. The next
// barrier lets it go first, or last.
//
// If ranks outnumber cores, some of them do not run when a barrier is over. Where one of these is
// the root of a broadcast or scatter that comes next, or rank 0 before a scan, all others wait for
// its turn. The root of a gather or reduce waits for the turns of all others, in the barrier as
// well as in the call. The ranks of a communicator make the same blocking calls in the same order,
// so each finds out alone what all others do.
#pragma once

#include "plan/problem.hpp"

namespace weft::comm {

/// Of one communicator. Each rank has its own, and they agree.
class AfterBarriers {
 public:
  /// `is_of_use`: whether barriers are to be made for what follows. The same on all ranks.
  explicit AfterBarriers(bool is_of_use) noexcept : is_of_use_(is_of_use) {}

  /// Each blocking call of the communicator, once; none that runs on a fiber.
  [[gnu::always_inline]] void note(const plan::Problem& problem) noexcept {
    if (problem.collective == plan::Collective::barrier) return note_barrier();
    if (was_barrier_) note_after(next_of(problem));
  }
  /// The same of calls in which there is no such rank.
  void note_other() noexcept {
    if (was_barrier_) note_after({});
  }

  /// Makes a barrier's problem the one that suits what follows.
  void prepare(plan::Problem& barrier) const noexcept {
    if (!is_steady()) return;
    barrier.root = next_.root;
    barrier.leaving = next_.leaving;
  }
  /// False of a barrier that does not suit what follows.
  [[gnu::always_inline]] bool suits(const plan::Problem& problem) const noexcept {
    if (problem.collective != plan::Collective::barrier) return true;
    return problem.leaving == plan::Leaving::any
               ? !is_steady()
               : is_steady() && Next{problem.root, problem.leaving} == next_;
  }

 private:
  /// What suits a call.
  struct Next {
    int root = 0;
    plan::Leaving leaving = plan::Leaving::any;
    bool operator==(const Next&) const = default;
  };
  // Another barrier has to be prepared, which is to come only where it is used often.
  static constexpr int kTimes = 64;

  static Next next_of(const plan::Problem& problem) noexcept {
    using enum plan::Collective;
    switch (problem.collective) {
      case broadcast:
      case scatter:
        return {problem.root, plan::Leaving::root_first};
      case scan:
      case exscan:
        return {0, plan::Leaving::root_first};
      case gather:
      case reduce:
        return {problem.root, plan::Leaving::root_last};
      default:
        return {};
    }
  }
  bool is_steady() const noexcept { return times_ == kTimes; }
  void note_barrier() noexcept {
    if (was_barrier_) note_after({});
    was_barrier_ = is_of_use_;
  }
  void note_after(const Next& next) noexcept {
    was_barrier_ = false;
    if (next != next_ || next.leaving == plan::Leaving::any) {
      next_ = next;
      times_ = 0;
    } else if (times_ < kTimes) {
      ++times_;
    }
  }

  bool is_of_use_;
  bool was_barrier_ = false;  // the last call
  Next next_;                 // after the last barrier
  int times_ = 0;             // in a row, up to kTimes
};

}  // namespace weft::comm
