// Calls after barriers: the rank for which the others of a communicator wait after their barriers,
// where that is the same one again and again. The next barrier lets it go first.
//
// If ranks outnumber cores, some of them do not run when a barrier is over. Where one of these is
// the root of a broadcast or scatter that comes next, or rank 0 before a scan, all others wait for
// its turn. The ranks of a communicator make the same blocking calls in the same order, so each
// finds out alone what all others do.
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
    if (was_barrier_) note_after(waited_for(problem));
  }
  /// The same of calls in which ranks wait for no rank alone.
  void note_other() noexcept {
    if (was_barrier_) note_after(kNobody);
  }

  /// Makes a barrier's problem the one that suits what follows.
  void prepare(plan::Problem& barrier) const noexcept {
    if (!is_steady()) return;
    barrier.root = next_;
    barrier.root_first = true;
  }
  /// False of a barrier that does not suit what follows.
  [[gnu::always_inline]] bool suits(const plan::Problem& problem) const noexcept {
    if (problem.collective != plan::Collective::barrier) return true;
    return problem.root_first ? is_steady() && problem.root == next_ : !is_steady();
  }

 private:
  static constexpr int kNobody = -1;
  // Another barrier has to be prepared, which is to come only where it is used often.
  static constexpr int kTimes = 64;

  static int waited_for(const plan::Problem& problem) noexcept {
    using enum plan::Collective;
    switch (problem.collective) {
      case broadcast:
      case scatter:
        return problem.root;
      case scan:
      case exscan:
        return 0;
      default:
        return kNobody;
    }
  }
  bool is_steady() const noexcept { return times_ == kTimes; }
  void note_barrier() noexcept {
    if (was_barrier_) note_after(kNobody);
    was_barrier_ = is_of_use_;
  }
  void note_after(int rank) noexcept {
    was_barrier_ = false;
    if (rank != next_ || rank == kNobody) {
      next_ = rank;
      times_ = 0;
    } else if (times_ < kTimes) {
      ++times_;
    }
  }

  bool is_of_use_;
  bool was_barrier_ = false;  // the last call
  int next_ = kNobody;        // the rank that all waited for after the last barrier
  int times_ = 0;             // in a row, up to kTimes
};

}  // namespace weft::comm
