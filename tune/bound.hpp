// Lower bound of the time of a collective, without a simulation.
#pragma once

#include <cstdint>

#include "sim/hardware.hpp"
#include "tune/facts.hpp"

namespace weft::tune {

struct Bound {
  double time_ns = 0;    ///< no simulation ends earlier
  double likely_ns = 0;  ///< taken to be the least in practice: see bound()
  /// The cost of a simulation, in ops: about those of all ranks, and the making of their plans
  /// where each plan goes through the blocks of all ranks.
  std::uint64_t ops = 0;
};

/// From the plans of one node, the root's or the widest; of `most_ranks` of its ranks, and fewer
/// where plans are long: the root or the first rank, and others. `likely_ns` takes all the rest to
/// be like the one of the others that sends and receives least. Its busiest core does its ops one
/// after another at the best rates of the hardware; its adapters pass all messages with no gap
/// between them but their own, at the rate of the best number of senders. Nothing waits. The time
/// that sim::simulate() gives is never less than `time_ns`, and hardly ever less than
/// `likely_ns`.
Bound bound(const Algorithm& algorithm, const plan::Problem& problem,
            const hierarchy::Machine& machine, const sim::Hardware& hardware,
            int most_ranks = INT32_MAX);

}  // namespace weft::tune
