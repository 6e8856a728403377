// Gather along a tree: the reverse of the scatter. A member collects the blocks of its subtree side
// by side and sends them to its parent as one message.
//
//   binomial, p = 8:    7 --7--> 6 --6,7--> 4 --4..7--> 0
//                                5 ---5---> 4           0
//                                3 --3--> 2 ---2,3----> 0
//                                         1 ----1-----> 0
//
// With p members, blocks of m bytes, n = p m:
//   rounds    the depth: sequential 1; chain p - 1; binary floor(lg p); binomial floor(lg p)
//   messages  1 of each but the root, which receives: sequential p - 1; chain 1; binary 2;
//             binomial ceil(lg p)
//   bytes     of a member m times its subtree; in all: sequential (p - 1) m, chain
//             p (p - 1) / 2 m, binomial p / 2 lg p m for powers of two
//   copied    m of a member with children, and of the root; what a root other than 0 receives of
//             both ends of its buffer in one message
//   scratch   m times the subtree of a member with children, and what is copied of both ends
//   stage 0
//
// Source: Vadhiyar, Fagg, Dongarra, "Towards an Accurate Model for Collective Communications",
// IJHPCA 18(1), 2004, Table 1.
#include "gather/flat/algorithms.hpp"
#include "gather/flat/holder.hpp"

namespace weft::gather {

Arrived tree_gather(plan::Builder& builder, const Team& team, Topology topology, int radix) {
  Holder holder(builder, team);
  const TreeNode node =
      find_in_tree(topology, radix, team.size(), team.around(team.self, -team.root));
  const auto blocks_of = [&](const Range& range) {
    return run_of(team, team.around(team.root, range.first), range.size());
  };
  const std::vector<int> own = blocks_of(node.own);
  if (node.parent >= 0 && !node.children.empty()) {
    holder.keep(own);
    holder.settle(team.self);
  }
  for (const Range& child : node.children) {
    holder.receive(team.around(team.root, child.first), blocks_of(child));
  }
  if (node.parent >= 0) holder.send(team.around(team.root, node.parent), own);
  return std::move(holder).finish();
}

}  // namespace weft::gather
