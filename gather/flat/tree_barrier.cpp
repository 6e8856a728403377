// Barriers along a tree: members tell their parents when their subtrees have come; the first member
// lets all go down the same tree. And the tournament, in which the champion lets all go itself.
//
//   tree        3 -> 2 -> 0 <- 1    then    0 -> 1, 2    2 -> 3
//   tournament  1 -> 0, 3 -> 2; 2 -> 0      then    0 -> 1, 2, 3
//
// In each round of the tournament the members that are left meet in pairs, and the lower one wins:
// that is a binomial tree. With p members:
//   rounds    twice the depth of the tree: sequential 2; chain 2 (p - 1); binary, binomial
//             2 floor(lg p); tournament floor(lg p) + 1
//   messages  2 (p - 1) in all
//   copied    1 byte by a root with more than 256 children
// A sequential tree inside a node is its flat barrier: one rank waits for all, then lets all go.
//
// Source: Hensgen, Finkel, Manber, "Two Algorithms for Barrier Synchronization", Int. J. Parallel
// Programming 17(1), 1988 (tournament); Vadhiyar, Fagg, Dongarra, IJHPCA 18(1), 2004, Table 1.
#include "gather/flat/barriers.hpp"

namespace weft::gather {

namespace {

/// Tells the parent that the subtree has come, once it has.
Ops gather_notes(Notes& notes, const BarrierGroup& group, const TreeNode& node) {
  Ops known = group.ready;
  for (const Range& child : node.children) known.push_back(notes.hear(child.first));
  if (node.parent >= 0) notes.tell(node.parent, known);
  return known;
}

// More ops than this that others wait for become one: else each child of a rank with thousands
// would wait for what was heard of all of them, by millions of dependencies.
constexpr std::size_t kManyOps = 256;

Ops joined(plan::Builder& builder, const Ops& known) {
  if (known.size() <= kManyOps) return known;
  const plan::Slice from = builder.allocate_scratch(1);
  return {builder.copy(builder.allocate_scratch(1), from, known)};
}

}  // namespace

Ops tree_barrier(plan::Builder& builder, const BarrierGroup& group, Topology topology, int radix,
                 const Between& between) {
  Notes notes(builder, group);
  const TreeNode node = find_in_tree(topology, radix, group.size(), group.self);
  Ops known = gather_notes(notes, group, node);
  if (node.parent >= 0) {
    known = {notes.hear(node.parent)};
  } else if (between) {
    known = between(known);
  }
  known = joined(builder, known);
  for (const Range& child : node.children) notes.tell(child.first, known);
  return known;
}

Ops tournament_barrier(plan::Builder& builder, const BarrierGroup& group) {
  Notes notes(builder, group);
  const TreeNode node = find_in_tree(binomial_tree, 2, group.size(), group.self);
  Ops known = gather_notes(notes, group, node);
  if (node.parent >= 0) return {notes.hear(0)};
  for (int member = 1; member < group.size(); ++member) notes.tell(member, known);
  return known;
}

}  // namespace weft::gather
