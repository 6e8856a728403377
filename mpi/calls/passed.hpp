// Passed-through calls: counted by the shape of their communicator, and timed in the host where a
// report is asked for.
#pragma once

#include <cstdint>
#include <utility>

#include "comm/setup/stopwatch.hpp"
#include "mpi/calls/call.hpp"

namespace weft::mpi {

/// Where calls like this one on its communicator are counted. Stays where it is.
PassedCount& passed_count_of(const Call& call, World& world, Attached& attached, Passed why);
/// Counts a call of the program that the host is to run, and returns where.
PassedCount& count_passed(const Call& call, World& world, Passed why);
/// The same where what belongs to its communicator is at hand.
PassedCount& count_passed(const Call& call, World& world, Attached& attached, Passed why);

/// Scope of the host's run of a call: adds its time to where the call was counted, if that is asked
/// for, and to the race that it is a trial of.
class InHost {
 public:
  explicit InHost(Call& call) : InHost(call.passed_count(), call.take_trial()) {}
  /// `count`: null where it is not timed.
  explicit InHost(PassedCount* count, Trial trial = {}) : count_(count), trial_(std::move(trial)) {
    if (count_ != nullptr) begin_ = comm::Stopwatch::ticks();
  }
  InHost(const InHost&) = delete;
  InHost& operator=(const InHost&) = delete;
  ~InHost() {
    if (count_ == nullptr) return;
    count_->ticks.fetch_add(comm::Stopwatch::ticks() - begin_, std::memory_order_relaxed);
  }

 private:
  PassedCount* count_;
  const Trial trial_;
  std::uint64_t begin_ = 0;
};

}  // namespace weft::mpi
