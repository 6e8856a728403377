// Clusters of the papers, simulated with the MPI of the paper and with weft's channel.
#pragma once

#include <cstdint>
#include <string>

#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"
#include "sim/hardware.hpp"

namespace weft::papers {

/// The software that sends the messages.
enum class Software : std::uint8_t {
  /// The MPI of the paper: it searches a list of posted receives, and asks the receiver before a
  /// message above its eager limit (the catalogue's).
  paper,
  /// weft's channel: nothing to search, 8 KiB eager, and receivers say by themselves that they are
  /// ready.
  weft,
};

/// The order in which a rank does the ops of its plan, where the paper's MPI runs it. weft's engine
/// always does what is ready.
enum class Order : std::uint8_t {
  free,  ///< what is ready, as in weft: an algorithm of nonblocking calls
  /// Program order of blocking calls: a send, a receive, or a send together with a receive
  /// (MPI_Sendrecv), then the next.
  blocking,
  /// For schemes of aggregation: inside the node, between the nodes, inside the node, each after
  /// the other.
  phased,
  phased_blocking,  ///< the same, with blocking calls between the nodes
};

/// Nodes of one adapter of the catalogue, under one of the two.
class Cluster {
 public:
  /// `match_ns` of Software::paper: what comparing a message with a posted receive takes.
  Cluster(Software software, const std::string& nic, int nodes, int ranks_per_node = 1,
          double match_ns = kMpichMatch_ns);

  /// Microseconds until the last rank is done; `bytes` as in plan::Problem: of a block, or of the
  /// whole vector of reductions. The algorithm as its room's registry names it. UsageError where
  /// `order` brings it to a deadlock.
  double us(plan::Collective collective, const std::string& algorithm, std::uint64_t bytes,
            Order order = Order::free) const;
  /// The same in that order also with weft's channel.
  double us_in_order(plan::Collective collective, const std::string& algorithm, std::uint64_t bytes,
                     Order order) const;

  const sim::Hardware& hardware() const { return hardware_; }

  /// Of MPICH's list of receives, and MVAPICH's and MPICH-GM's, which have it from there:
  /// calibrated, see docs/papers.md.
  static constexpr double kMpichMatch_ns = 47;

 private:
  Software software_;
  hierarchy::Machine machine_;
  sim::Hardware hardware_;
};

}  // namespace weft::papers
