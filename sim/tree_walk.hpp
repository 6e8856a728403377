// Tree walk: finds the ranks at which data that goes down a tree arrives last. Only files of sim/
// include this.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/plan.hpp"
#include "sim/class_sources.hpp"

namespace weft::sim {

/// Where data goes down a tree from the root, the ranks that get it last become members: those at
/// the ends of the longest ways, whatever a level costs beside a send.
class TreeWalk {
 public:
  /// The arguments must live longer.
  TreeWalk(RankLookup& ranks, const hierarchy::Machine& machine, int root)
      : ranks_(ranks), machine_(machine), root_(root) {}

  void run();

 private:
  /// What a rank on a way down costs those behind it: for each level, and for each send before the
  /// one that is waited for.
  struct Weights {
    int level = 1;
    int send = 1;
  };
  struct Way {
    int length = 0;
    int child = -1;  // the first rank on it; -1: the rank is a leaf
  };

  void add_members(int rank);
  void down(int rank, bool to_last);
  Way longest(int rank, const Weights& weights, int level);
  std::vector<int> receivers(const plan::Plan& plan) const;

  RankLookup& ranks_;
  const hierarchy::Machine& machine_;
  int root_;
  std::unordered_map<std::uint64_t, Way> longest_;  // by shape
};

}  // namespace weft::sim
