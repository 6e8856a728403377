// The clusters of the papers, simulated.
#pragma once

#include <cstdint>
#include <string>

#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"
#include "sim/hardware.hpp"

namespace weft::papers {

/// Nodes of one adapter of the catalogue.
class Cluster {
 public:
  Cluster(const std::string& nic, int nodes, int ranks_per_node = 1);

  /// Microseconds until the last rank is done; `bytes` as in plan::Problem: of a block, or of the
  /// whole vector of reductions. The algorithm as its room's registry names it.
  double us(plan::Collective collective, const std::string& algorithm, std::uint64_t bytes) const;
  /// The same where what a rank does inside its node after the network waits until its last
  /// message has come.
  double us_one_after_another(plan::Collective collective, const std::string& algorithm,
                              std::uint64_t bytes) const;

 private:
  hierarchy::Machine machine_;
  sim::Hardware hardware_;
};

}  // namespace weft::papers
