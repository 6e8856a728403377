// What a collective takes at least, without simulating it.
#pragma once

#include <cstdint>

#include "sim/hardware.hpp"
#include "tune/algorithm.hpp"

namespace weft::tune {

struct Bound {
  double time_ns = 0;    ///< no simulation ends earlier
  double likely_ns = 0;  ///< the same, with the adapters as fast as their senders let them be
  /// What a simulation costs, in ops: those of all ranks, about, and what making their plans takes,
  /// where each goes through the blocks of all.
  std::uint64_t ops = 0;
};

/// From the plans of one node, the root's or the widest. Its busiest core does each of its ops one
/// after another at the best rates that there are; its adapters pass all messages with no gap
/// between them but their own, at the rate of whatever number of senders is best. Nothing waits.
/// What sim::simulate() gives is never less.
Bound bound(const Algorithm& algorithm, const plan::Problem& problem,
            const hierarchy::Machine& machine, const sim::Hardware& hardware);

}  // namespace weft::tune
