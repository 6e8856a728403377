// Broadcast along a tree: each member passes all on to its children once it has come.
//
//   sequential        chain               binary           binomial, p = 8
//       0             0 -> 1 -> 2 -> 3        0                  0
//    / | | \                                /   \             /  |  \.
//   1  2 3  4                              1     4           4   2   1
//                                         / \   / \         / \  |
//                                        2   3 5   6       6  5  3
//                                                          7
// A member's sends need not wait for one another. With p members, n bytes:
//   rounds    the depth: sequential 1; chain p - 1; binary floor(lg p); binomial floor(lg p)
//   messages  of the root: sequential p - 1; chain 1; binary 2; binomial ceil(lg p); p - 1 in all
//   bytes     n along each edge, (p - 1) n in all; every member receives n
//   copied, stage, scratch 0 where the data are one slice
// In segments (team_segments.hpp) the same for each segment, which a member passes on while the
// next comes: a chain of p members takes p - 2 + s steps of n / s bytes instead of (p - 1) n.
//
// Source: Vadhiyar, Fagg, Dongarra, "Towards an Accurate Model for Collective Communications",
// IJHPCA 18(1), 2004, Table 1; the cost of the binomial tree: Thakur, Rabenseifner, Gropp, IJHPCA
// 19(1), 2005, section 4.2.
#include "gather/flat/algorithms.hpp"
#include "gather/flat/holder.hpp"

namespace weft::gather {

Arrived tree_broadcast(plan::Builder& builder, const Team& team, Topology topology, int radix) {
  Holder holder(builder, team);
  const TreeNode node =
      find_in_tree(topology, radix, team.size(), team.around(team.self, -team.root));
  const std::vector<int> blocks = all_of(team);
  if (node.parent >= 0) holder.receive(team.around(team.root, node.parent), blocks);
  for (const Range& child : node.children) {
    holder.send(team.around(team.root, child.first), blocks);
  }
  return std::move(holder).finish();
}

}  // namespace weft::gather
