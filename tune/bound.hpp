// What a collective takes at least, without simulating it.
#pragma once

#include <cstdint>

#include "sim/hardware.hpp"
#include "tune/algorithm.hpp"

namespace weft::tune {

struct Bound {
  double time_ns = 0;     ///< no simulation ends earlier
  std::uint64_t ops = 0;  ///< of all ranks, about: what a simulation costs
};

/// From the plans of one node, the root's or the widest. Its busiest core does each of its ops one
/// after another at the best rates that there are; its adapters pass all messages with no gap
/// between them but their own, at the rate of whatever number of senders is best. Nothing waits.
/// What sim::simulate() gives is never less.
Bound bound(const Algorithm& algorithm, const plan::Problem& problem,
            const hierarchy::Machine& machine, const sim::Hardware& hardware);

}  // namespace weft::tune
