// Trees over the members of a team, for all that has a root.
#pragma once

#include <vector>

#include "gather/flat/team.hpp"

namespace weft::gather {

/// Members first to last - 1, counted from the root around the team. The first is the head of the
/// others. Subtrees are ranges, so that the blocks of a subtree lie side by side.
struct Range {
  int first = 0;
  int last = 0;

  int size() const { return last - first; }
  bool operator==(const Range&) const = default;
};

/// The subtrees below the head of a range, in the order in which it serves them. `radix` is for
/// trees that have one.
///
///   sequential   0 -> 1, 2, 3, 4, ...                    depth 1, p - 1 children
///   chain        0 -> 1 -> 2 -> 3 -> ...                 depth p - 1, one child
///   binary       0 -> 1 and the middle, each with half   depth floor(lg p), two children
///   binomial     0 -> 4, 2, 1; 4 -> 6, 5; 6 -> 7; ...    depth floor(lg p), up to ceil(lg p)
///                                                        children; of radix k: rounds of k - 1
///                                                        children that each take 1/k of what is
///                                                        left
using Topology = std::vector<Range> (*)(Range range, int radix);

std::vector<Range> sequential_tree(Range range, int radix);
std::vector<Range> chain_tree(Range range, int radix);
std::vector<Range> binary_tree(Range range, int radix);
std::vector<Range> binomial_tree(Range range, int radix);

/// Where one member stands.
struct TreeNode {
  Range own;
  int parent = -1;  // counted from the root; the root has none
  std::vector<Range> children;
};

TreeNode find_in_tree(Topology topology, int radix, int size, int member);

}  // namespace weft::gather
