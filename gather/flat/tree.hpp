// Trees over the members of a group that has a root.
#pragma once

#include <vector>

#include "algorithm/inside_step.hpp"
#include "algorithm/team.hpp"

namespace weft::gather {

using algorithm::Arrived;
using algorithm::holds_own;
using algorithm::Ops;
using algorithm::Range;
using algorithm::Slices;
using algorithm::Team;
using algorithm::Topology;
using algorithm::wants_all;

/// The shapes:
///
///   sequential   0 -> 1, 2, 3, 4, ...                    depth 1, p - 1 children
///   chain        0 -> 1 -> 2 -> 3 -> ...                 depth p - 1, one child
///   binary       0 -> 1 and the middle, each with half   depth floor(lg p), two children
///   binomial     0 -> 4, 2, 1; 4 -> 6, 5; 6 -> 7; ...    depth floor(lg p), up to ceil(lg p)
///                                                        children; of radix k: rounds of k - 1
///                                                        children that each take 1/k of what is
///                                                        left
std::vector<Range> sequential_tree(Range range, int radix);
std::vector<Range> chain_tree(Range range, int radix);
std::vector<Range> binary_tree(Range range, int radix);
std::vector<Range> binomial_tree(Range range, int radix);

/// The place of one member in a tree.
struct TreeNode {
  Range own;
  int parent = -1;  // counted from the root; the root has none
  std::vector<Range> children;
};

TreeNode find_in_tree(Topology topology, int radix, int size, int member);

}  // namespace weft::gather
