// Probe plans: the measurements of a probe as plans, for the simulator and for real ranks.
#pragma once

#include <functional>

#include "hierarchy/machine.hpp"
#include "nic_profiles/fit/probe_target.hpp"
#include "plan/plan.hpp"

namespace weft::nic_profiles {

/// The plans of all ranks of a machine, and the rank whose end is timed.
struct Exercise {
  hierarchy::Machine machine;
  std::function<plan::Plan(int rank)> plan_of_rank;
  int watched = -1;  ///< a rank; -1: the last of all to end
};

// The time of one part of an exercise is the difference of two runs: with that part (`timed`) and
// without it.

/// `rounds` round trips.
Exercise ping_pong(std::uint64_t bytes, int rounds);
Exercise stream(const Stream& stream);
/// A core that sends, then signals to another core of its node that it is free.
Exercise send_and_tell(std::uint64_t bytes, bool timed);
Exercise copy(const Copy& copy, bool timed);
/// `rounds` signals there and back.
Exercise signals(int rounds);
Exercise reduction(std::uint64_t bytes, bool timed);
/// A copy of a neighbour's input.
Exercise call(std::uint64_t bytes, bool timed);

}  // namespace weft::nic_profiles
