// Cost sheet: messages, bytes, copies, memory and rounds of a set of plans, counted and not timed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace weft::plan {

struct Cost {
  std::uint64_t messages = 0;        // sends to ranks of other nodes: startups on the wire
  std::uint64_t wire_bytes = 0;      // their bytes
  std::uint64_t local_messages = 0;  // sends to ranks of the same node
  std::uint64_t local_bytes = 0;     // their bytes
  std::uint64_t copied_bytes = 0;
  std::uint64_t reduced_bytes = 0;
  std::uint64_t signals = 0;
  std::uint64_t stage_bytes = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t peers = 0;  // distinct ranks of other nodes sent to or received from: connections

  Cost& operator+=(const Cost& other);
  bool operator==(const Cost&) const = default;
};

struct CostSheet {
  std::vector<Cost> by_rank;
  std::vector<Cost> by_node;  // sums over the node's ranks
  Cost total;
  /// Messages between nodes on the longest chain of ops, each of which must wait for the one before
  /// it: by its dependencies, by the start order towards one peer, or for its message or signal.
  /// Sends that do not wait for one another are one round. Signals do not count.
  std::uint64_t rounds = 0;
  /// The same for messages and signals between the ranks of a node.
  std::uint64_t local_rounds = 0;
};

/// Plans that are not one a rank, do not match or wait in a circle (see verify) have no cost:
/// UsageError, as for nodes outside [0, ranks).
CostSheet cost_sheet(std::span<const int> node_of_rank, std::span<const Plan> plans);

/// A table for people: one line a rank when `ranks` asks for it, nodes, and the total.
std::string to_table(const CostSheet& sheet, bool ranks);

}  // namespace weft::plan
