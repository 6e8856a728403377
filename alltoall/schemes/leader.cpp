// Leaders: k ranks of a node speak for all of it.
//
//   node A, k = 2                         node B, k = 2
//   A0 A1 -> leader A0 \                / B0 -> B0 B1
//                       >-- exchange --<              exchange: every leader with all leaders of
//   A2 A3 -> leader A2 /                \ B2 -> B2 B3 all other nodes
//   aggregate             between nodes     distribute
//
// The ranks of a node form min(k, P) groups of neighbours, or with leaders=sockets those of its
// sockets; the first of each is its leader. Ranks
// put their blocks for other nodes into the stage of their leader; leaders exchange; ranks take
// their blocks out of the stage of their leader. A message from group g to group h has a block
// for each pair of their ranks, by source, then by destination. Blocks within the node take no
// part in this; their exchange runs while the messages are on their way. A leader alone in its
// group sends from its input and receives into its output.
//
// Equal blocks of m bytes: with N nodes, P ranks on the node at hand, R ranks on all others, groups
// of G ranks, `isend` between nodes (each size of stage rounded up to 64 bytes):
//   rounds      1 (N > 1)
//   messages    a leader: one to each leader on another node, (N - 1) min(k, P) if all nodes have
//               P ranks (with S sockets on all (N - 1) S); other ranks: none
//   bytes       a leader: G R m
//   copied      within the node staged (2 P - 1) m, direct P m; if G > 1 also 2 R m, and direct a
//               leader R m + G R m, other ranks R m
//   stage       staged (P - 1) m, direct 0; if G > 1 and N > 1 a leader also 2 G R m
//   signals     if G > 1 and N > 1 a leader G - 1, other ranks staged 1; within the node staged
//               P - 1, direct 2 (P - 1)
//   scratch     0; for a leader alone in its group 0 where the ranks of a group lie at equal
//               distances, else it packs and unpacks
// With another step between nodes: its rounds, messages and bytes among all leaders, where those
// of one node have nothing for one another.
//
// Blocks of any size, blocks above `aggregate`, and in place: as for SA (send_aggregation.cpp); in
// place a leader alone in its group aggregates too.
//
// Source: the leader-based scheme of Kumar, Mamidala, Panda, "Scaling Alltoall Collective on
// Multi-core Systems", 2008, section 5, with several leaders as proposed there.
#include "alltoall/schemes/aggregation.hpp"
#include "alltoall/schemes/algorithms.hpp"
#include "hierarchy/groups.hpp"

namespace weft::alltoall {

void leader(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
            const hierarchy::Machine& machine, const Parameters& parameters) {
  if (machine.nodes() == 1) return aggregate(builder, blocks, machine, parameters, {});
  const auto groups = hierarchy::groups(machine, parameters.leaders);
  std::vector<Lane> lanes(1);
  for (const hierarchy::Group& group : groups) {
    lanes[0].push_back({group.leader(), group.node, group.ranks, group.ranks});
  }
  aggregate(builder, blocks, machine, parameters, lanes);
}

}  // namespace weft::alltoall
