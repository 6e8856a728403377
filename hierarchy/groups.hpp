// Leaders: the ranks of a node that speak for it.
#pragma once

#include <span>
#include <vector>

#include "hierarchy/machine.hpp"

namespace weft::hierarchy {

/// The sizes of `count` blocks of `total` things in all, as even as can be, the larger first.
std::vector<int> even_blocks(int total, int count);

/// Neighbouring ranks of a node, and the one that speaks for them: the first.
struct Group {
  int node = 0;
  std::span<const int> ranks;  // ascending; of the machine, which must live longer

  int leader() const { return ranks.front(); }
  int size() const { return static_cast<int>(ranks.size()); }
};

/// The groups of all nodes, node after node: on each node min(leaders, its ranks), in blocks by
/// place as even as can be.
std::vector<Group> groups(const Machine& machine, int leaders);

}  // namespace weft::hierarchy
