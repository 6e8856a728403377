// Broadcast with every rank of a node on the network, for small data: a tree of nodes in which each
// of the P ranks of a node that has the data sends them on at once, so that the nodes that have
// them are P + 1 times as many after each round.
//
//   2 ranks a node, 9 nodes:   round 1: node 0 -> 3 (rank 0), 6 (rank 1)
//                              round 2: node 0 -> 1, 2; node 3 -> 4, 5; node 6 -> 7, 8
//
// On the root's node the root puts the data into its stage, from where its peers send and copy; on
// another node its first rank receives into its stage, for all. A rank alone on its node needs
// none: it sends from where the data are.
//
// With N nodes, P ranks on each, n bytes:
//   rounds    ceil(log_(P+1) N)
//   messages  N - 1 in all; of a rank at most one for each round
//   bytes     (N - 1) n in all
//   copied    P n on each node (P > 1)
//   stage     n of one rank of each node (P > 1); scratch 0
//   signals   P - 1 on each node
//
// Source: the tree of nodes of Huang et al., "PiP-MColl: Process-in-Process-based Multi-object MPI
// Collectives", 2023, section III-A1, and its MPI_Bcast inside a node, III-C.
#include "gather/flat/team_of_all.hpp"
#include "gather/schemes/algorithms.hpp"
#include "gather/schemes/node_rounds.hpp"

namespace weft::gather {

using hierarchy::Machine;
using plan::Slice;
using plan::Space;

void multi_object_broadcast(plan::Builder& builder, const plan::Problem& problem,
                            const Machine& machine, const Parameters& /*parameters*/) {
  const std::uint64_t bytes = problem.block_bytes;
  if (bytes == 0) return;
  const int self = builder.rank();
  const int node = machine.node_of(self);
  const int root_node = machine.node_of(problem.root);
  const auto local = machine.ranks_on(node);
  const bool at_root = node == root_node;
  const int head = at_root ? problem.root : local.front();
  const bool alone = local.size() == 1;
  const NodeTree tree = find_in_node_tree(machine, root_node, node);
  const Slice own =
      Slice::contiguous(self == problem.root ? Space::input : Space::output, self, 0, bytes);
  const Slice shared = alone ? own : Slice::contiguous(Space::stage, head, 0, bytes);

  Ops there;
  if (self == head) {
    if (!alone) builder.allocate_stage(bytes);
    there = {at_root ? builder.copy(shared, own) : builder.recv(tree.sender, shared)};
    for (const int peer : local) {
      if (peer != head) builder.signal(peer, there);
    }
  } else {
    there = {builder.wait(head)};
  }
  // The root need not wait for its copy.
  const Slice& from = self == problem.root ? own : shared;
  for (const NodeTree::Child& child : tree.children) {
    if (child.sender != self) continue;
    const int to = machine.ranks_on(node_at(machine, root_node, child.nodes.first)).front();
    builder.send(to, from, self == problem.root ? Ops() : there);
  }
  if (self != problem.root) builder.copy(own, shared, there);
}

}  // namespace weft::gather
