// RD, receive-side distribution: each rank sends all that it has for a node to one rank there,
// which hands it out.
//
//   node A                         node B
//   A0 ---- step 1: for B0 B1 ----> B0 stage: from A0: for B0 B1 | from C0: ...  --.
//   A1 ---- step 1: for B0 B1 ----> B1 stage: from A1: for B0 B1 | from C1: ...  -.|
//                                                                                 ||
//                        step 2, inside B: every rank copies its blocks out of all stages
//
// Nothing is copied before it is sent where a node's ranks lie at equal distances in the input.
// Blocks within the node take no part in this; their exchange runs while the messages are on their
// way. Where a node has fewer ranks than another, its rank x mod P stands in as the receiver for
// the x it lacks, so the scheme works on any placement. A rank alone on its node has nothing to
// distribute and receives into its output.
//
// With cores=k only c = min(k, P) ranks of a node talk to the network: its ranks form c groups of
// neighbours, and the first of each sends for all of it, out of its stage. Above, k is the number
// of ranks and every group has one.
//
// Equal blocks of m bytes: with N nodes, P ranks and c cores on the node at hand, R_all ranks on
// all others, `isend` between nodes, a core y that sends for G ranks (each size of stage rounded up
// to 64 bytes):
//   represents  C remote cores, those x with x mod c = y, and the R ranks of their groups: N - 1
//               if all nodes have c cores
//   rounds      1 (N > 1)
//   messages    N - 1; ranks that are no core none
//   bytes       R_all G m: (N - 1) P^2 m / c if all nodes have P ranks in c groups alike
//   copied      R_all m (0 if P = 1) and within the node staged (2 P - 1) m, direct P m; if G > 1
//               also R_all m by every rank of the group, direct R_all G m by the core alone
//   stage       staged R P m + (P - 1) m; direct R P m; without the first if P = 1; if G > 1 also
//               R_all G m
//   signals     P - 1 if R > 0, and within the node staged P - 1, direct 2 (P - 1); if G > 1 also
//               staged 1 by those of the group that are no core
//   scratch     0 where the ranks of a node lie at equal distances; else what is sent is packed
// With another step between nodes: its rounds, messages and scratch among N members, and P times
// its bytes. As with SA, c of every P^2 messages between nodes that a flat exchange has.
//
// Blocks of any size, blocks above `aggregate`, and in place: as for SA (send_aggregation.cpp),
// but in place it is the sender that copies first, and no rank sends out of its output.
//
// Source: Kumar, Mamidala, Panda, "Scaling Alltoall Collective on Multi-core Systems", 2008,
// section 5. Uneven and interleaved placements are ours.
#include "alltoall/schemes/aggregation.hpp"
#include "alltoall/schemes/algorithms.hpp"
#include "alltoall/schemes/cores.hpp"

namespace weft::alltoall {

void receive_distribution(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
                          const hierarchy::Machine& machine, const Parameters& parameters) {
  if (machine.nodes() == 1) return aggregate(builder, blocks, machine, parameters, {});
  const Cores cores(machine, parameters.cores);
  std::vector<Lane> lanes;
  for (int x = 0; x < cores.most(); ++x) {
    Lane& lane = lanes.emplace_back();
    for (int node = 0; node < machine.nodes(); ++node) {
      lane.push_back(
          {cores.representative(node, x), node, cores.group(node, x), machine.ranks_on(node)});
    }
  }
  aggregate(builder, blocks, machine, parameters, lanes);
}

}  // namespace weft::alltoall
