// Take-over rule: how many calls of a communicator the host MPI serves before weft does.
//
// A set-up costs milliseconds, and most communicators of most programs see a few calls. So the host
// serves the first calls, and each earns what it would have taken less over weft; weft takes over
// at the call before which so much has been earned as a set-up costs. By then a set-up loses at
// most as much again (the rule of ski rental: Karlin, Manasse, Rudolph, Sleator, "Competitive
// snoopy caching", 1988). What is earned follows from what all ranks of the communicator know of a
// call, so they take over at the same one; ranks call collectives of a communicator in one order.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/problem.hpp"

namespace weft::mpi {

class TakeOver {
 public:
  struct Placement {
    int ranks = 1;
    int nodes = 1;                 // of the whole job
    int most_ranks_on_a_core = 1;  // likewise
  };
  explicit TakeOver(const Placement& placement) noexcept;

  /// Counts a call that the host could serve. `block_bytes`: bytes that go from one rank to
  /// another, or the vector of a reduction; nothing where ranks know only their own.
  void count(plan::Collective collective, std::optional<std::uint64_t> block_bytes) noexcept;
  /// Whether the calls counted so far pay for a set-up.
  bool is_due() const noexcept { return left_ns_ <= 0; }

 private:
  std::int64_t ranks_;
  std::int64_t rounds_;  // of an exchange along a tree
  std::int64_t message_ns_;
  std::int64_t left_ns_;  // of the cost of a set-up
};

}  // namespace weft::mpi
