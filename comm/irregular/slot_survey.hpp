// Slot survey: of the alltoallvs of a communicator, what each rank has for ranks of other nodes is
// counted call by call, and before calls 2, 4, 8, ... all ranks learn the largest of the counts of
// all since the last time, by an allreduce of a few numbers. So they choose alike, and the
// surveys cost less and less beside the calls that they are about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/setup/resources.hpp"
#include "plan/problem.hpp"
#include "tune/slot_choice.hpp"

namespace weft::comm {

/// For communicators whose alltoallvs may go in slots.
class SlotSurvey {
 public:
  /// Collective.
  SlotSurvey(Resources& resources, tune::SlotChoice choice);

  const tune::SlotChoice& choice() const noexcept { return choice_; }
  /// The way in use, of choice().ways().
  std::size_t way() const noexcept { return way_; }

  /// Before each call. At some calls, the same on all ranks, true where another way is in use from
  /// now on; then that is collective.
  bool begin_call();
  /// The call has these blocks: what its rank sends, none in place, and receives. Where they are
  /// not those of the call before.
  void look_at(std::span<const plan::Block> sends, std::span<const plan::Block> receives);
  /// The call has such blocks as were last looked at.
  void count_call() noexcept;
  /// To plan a call for other blocks than those of the call before has taken so long.
  void add_planning(std::uint64_t ns) noexcept { sum_.planning_ns += ns; }

 private:
  // Between surveys at most.
  static constexpr std::uint64_t kMostCalls = 1024;

  tune::PairCounts average() const noexcept;

  Resources& resources_;
  tune::SlotChoice choice_;
  std::size_t way_ = 0;
  engine::Prepared allreduce_;
  tune::PairCounts of_call_;  // of the blocks that were last looked at
  tune::PairCounts sum_;      // of the calls since the last survey
  std::uint64_t before_ = 0;  // calls before the last survey
  std::uint64_t calls_ = 0;   // since then
  std::uint64_t next_ = 1;    // the number of these at which there is a survey
};

}  // namespace weft::comm
