// Scatter along a tree: a member receives the blocks of its subtree as one message and sends each
// child those of the child's.
//
//   binomial, p = 8:    0 --4..7--> 4 --6,7--> 6 --7--> 7
//                       |           '---5----> 5
//                       |--2,3--> 2 --3--> 3        binary: halves of what is left, to two
//                       '---1---> 1                 chain: all that is left, to the next
//
// The trees are numbered from the root, so that the blocks of a subtree lie side by side. With p
// members, blocks of m bytes, n = p m:
//   rounds    the depth: sequential 1; chain p - 1; binary floor(lg p); binomial floor(lg p)
//   messages  of the root: sequential p - 1; chain 1; binary 2; binomial ceil(lg p); p - 1 in all
//   bytes     of the root n - m; along an edge m times the subtree; in all: sequential (p - 1) m,
//             chain p (p - 1) / 2 m, binomial p / 2 lg p m for powers of two
//   copied    m of a member with children, and of the root; what a root other than 0 sends of
//             both ends of its buffer in one message
//   scratch   m times the subtree of a member with children, and what is copied of both ends
//   stage 0
//
// Source: Vadhiyar, Fagg, Dongarra, "Towards an Accurate Model for Collective Communications",
// IJHPCA 18(1), 2004, Table 1; the cost of the binomial tree, lg p startups and (p - 1) / p n bytes
// at the root: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.2.
#include "gather/flat/algorithms.hpp"
#include "gather/flat/holder.hpp"

namespace weft::gather {

Arrived tree_scatter(plan::Builder& builder, const Team& team, Topology topology, int radix) {
  Holder holder(builder, team);
  const TreeNode node =
      find_in_tree(topology, radix, team.size(), team.around(team.self, -team.root));
  const auto blocks_of = [&](const Range& range) {
    return run_of(team, team.around(team.root, range.first), range.size());
  };
  if (node.parent >= 0) holder.receive(team.around(team.root, node.parent), blocks_of(node.own));
  for (const Range& child : node.children) {
    holder.send(team.around(team.root, child.first), blocks_of(child));
  }
  return std::move(holder).finish();
}

}  // namespace weft::gather
