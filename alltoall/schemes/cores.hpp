// Cores: the ranks of each node that talk to the network, and their stand-ins where a node lacks
// some.
#pragma once

#include <algorithm>

#include "hierarchy/groups.hpp"

namespace weft::alltoall {

/// The cores of a node are the leaders of its groups. Column x joins one core a node: its
/// *representative*, core x modulo the node's cores. That is core x itself wherever there is one.
/// So on any placement every remote core has exactly one local core that represents it:
///
///   node A: cores 0 1       column 0: A0 B0     A0 stands in for core 2 of B, which A lacks
///   node B: cores 0 1 2     column 1: A1 B1
///                           column 2: A0 B2
class Cores {
 public:
  /// At most `cores` a node; 0: every rank.
  Cores(const hierarchy::Machine& machine, int cores)
      : groups_(hierarchy::groups(machine, cores == 0 ? machine.widest() : cores)) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (i == 0 || groups_[i].node != groups_[i - 1].node) first_.push_back(i);
    }
    first_.push_back(groups_.size());
  }

  int count(int node) const { return static_cast<int>(first_[node + 1] - first_[node]); }
  /// The most that any node has: the columns.
  int most() const {
    int most = 0;
    for (std::size_t node = 0; node + 1 < first_.size(); ++node) {
      most = std::max(most, count(static_cast<int>(node)));
    }
    return most;
  }
  int representative(int node, int x) const {
    return groups_[first_[node] + static_cast<std::size_t>(x % count(node))].leader();
  }
  /// The ranks that core `x` speaks for; none where the node has no such core.
  std::span<const int> group(int node, int x) const {
    if (x >= count(node)) return {};
    return groups_[first_[node] + static_cast<std::size_t>(x)].ranks;
  }

 private:
  std::vector<hierarchy::Group> groups_;
  std::vector<std::size_t> first_;  // by node, and one more
};

}  // namespace weft::alltoall
