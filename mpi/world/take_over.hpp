// Take-over rule: how many calls of a communicator the host MPI serves before weft does.
//
// A set-up costs milliseconds, and most communicators of most programs see a few calls. So the host
// serves the first calls, and each adds the time that weft would have saved; weft takes over when
// the sum has reached what a set-up costs. By then a set-up loses at most as much again
// (the rule of ski rental: Karlin, Manasse, Rudolph, Sleator, "Competitive snoopy caching", 1988).
// What is saved follows from what all ranks of the communicator know of a call, so they take over
// at the same one; ranks call collectives of a communicator in one order. Of an alltoallv each rank
// knows its own bytes only: now and then they agree on the most.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/problem.hpp"

namespace weft::mpi {

class TakeOver {
 public:
  struct Placement {
    int ranks = 1;
    int nodes = 1;                    // of the whole job
    int most_ranks_on_a_core = 1;     // likewise
    bool is_of_all_ranks = false;     // whose set-up is mostly the first one of a program
    bool waiting_keeps_core = false;  // of a rank that waits in the host: kReceiveKeepsCore
  };
  explicit TakeOver(const Placement& placement) noexcept;

  /// Counts a call that the host could serve. `block_bytes`: bytes that go from one rank to
  /// another, or the vector of a reduction; nothing where ranks know only their own.
  void count(plan::Collective collective, std::optional<std::uint64_t> block_bytes) noexcept;
  /// Counts an alltoallv of which this rank sends `sent_bytes` in all. True when all ranks have to
  /// agree on the most that one of them has sent_bytes() of, for learn(), before is_due().
  bool count_irregular(std::uint64_t sent_bytes) noexcept;
  /// Of all alltoallv so far.
  std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }
  void learn(std::uint64_t most_sent_bytes) noexcept;
  /// Whether the calls counted so far pay for a set-up.
  bool is_due() const noexcept { return left_ns_ <= 0; }

 private:
  std::int64_t earned_by(plan::Collective collective, std::uint64_t block_bytes) const noexcept;

  std::int64_t ranks_;
  std::int64_t rounds_;  // of an exchange along a tree
  std::int64_t message_ns_;
  std::int64_t turns_ns_ = 0;  // of a call in the host, which waits for the scheduler so long
  std::int64_t left_ns_;       // of the cost of a set-up
  // Of alltoallv.
  std::int64_t irregular_calls_ = 0;
  std::int64_t next_agreement_ = 2;  // at this call
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t irregular_block_bytes_;  // in the mean, as far as it is known
};

}  // namespace weft::mpi
