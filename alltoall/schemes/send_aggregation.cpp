// SA, send-side aggregation: ranks first hand their blocks to the local rank that talks to the
// destination; then each rank talks to one rank of every other node.
//
//   node A                         node B
//   A0 ---.      step 2: A0 ------> B0       step 1, inside A: every rank copies its blocks for
//   A1 --.|      step 2: A1 ------> B1       rank x of every other node into the stage of Ax;
//        ||                                  step 2: Ax sends B's rank x all that A has for it
//        |'-> stage of A0: for B0: from A0 A1 | for C0: from A0 A1 | ...
//        '--> stage of A1: for B1: from A0 A1 | for C1: from A0 A1 | ...
//
// What arrives needs no further copy: it is the destination's own, and goes to its output. Blocks
// within the node take no part in this; their exchange runs while the messages are on their way.
// Where a node has fewer ranks than another, its rank x mod P stands in for the x it lacks, so the
// scheme aggregates on any placement. A rank alone on its node has nothing to aggregate and sends
// from its input.
//
// With cores=k only c = min(k, P) ranks of a node talk to the network: its ranks form c groups of
// neighbours, the first of each receives for all of it, and the others take their blocks out of its
// stage. Above, k is the number of ranks and every group has one.
//
// Equal blocks of m bytes: with N nodes, P ranks and c cores on the node at hand, R_all ranks on
// all others, `isend` between nodes, a core y that receives for G ranks (each size of stage rounded
// up to 64 bytes):
//   represents  C remote cores, those x with x mod c = y, and the R ranks of their groups: N - 1
//               if all nodes have c cores
//   rounds      1 (N > 1)
//   messages    C; ranks that are no core none
//   bytes       R P m: (N - 1) P^2 m / c if all nodes have P ranks in c groups alike
//   copied      staged R_all m + (2 P - 1) m; direct R P m + P m; without the first if P = 1; if
//               G > 1 also R_all m, by every rank of the group
//   stage       staged R P m + (P - 1) m; direct R P m; without the first if P = 1; if G > 1 also
//               R_all G m
//   signals     staged one to each peer that represents a rank, and P - 1; direct 2 (P - 1); if
//               G > 1 also a core G - 1
//   scratch     0 where the ranks of a node lie at equal distances; else what comes is unpacked
// With another step between nodes: its rounds, messages and scratch among N members, and P times
// its bytes. A flat exchange has N (N - 1) P^2 messages between nodes; this has N (N - 1) c.
//
// Blocks of any size: the same sums over the sizes, with no message, copy or signal where there is
// no byte. Blocks above `aggregate` are not in them: each is a message of its own straight from
// rank to rank, inside a node too unless direct. So stage and scratch are at most those of equal
// blocks of `aggregate` bytes, whatever the sizes (Algorithm::memory_bound). On a machine of one
// node stages are as large as that, so that a plan needs to know its own rank's blocks only
// (hierarchy::InsideNode).
//
// With a step between nodes that takes an alltoallv in slots of S bytes (between=bruck; slots.hpp)
// each block of up to S bytes has a slot in the messages between nodes, and larger ones go straight
// to their ranks. There, a rank has the messages and bytes of an alltoall of blocks of S bytes, and
// a message for each larger block. Messages follow from the machine alone; with `aggregate`, by
// which slots inside the node are measured, a plan needs to know its own rank's blocks only. Each
// sender stages, one that is alone on its node too. So it is in all schemes.
//
// In place: a rank alone on its node aggregates too; nothing is direct; the own block is not
// copied; scratch for what is swapped at most kSwapScratchBytes more.
//
// Source: Kumar, Mamidala, Panda, "Scaling Alltoall Collective on Multi-core Systems", 2008,
// section 5, which proposes the subset of cores too. Uneven and interleaved placements are ours.
#include "alltoall/schemes/aggregation.hpp"
#include "alltoall/schemes/algorithms.hpp"
#include "alltoall/schemes/cores.hpp"

namespace weft::alltoall {

std::vector<Lane> lanes_of_columns(const hierarchy::Machine& machine, int most_cores) {
  if (machine.nodes() == 1) return {};
  const Cores cores(machine, most_cores);
  std::vector<Lane> lanes;
  for (int x = 0; x < cores.most(); ++x) {
    Lane& lane = lanes.emplace_back();
    for (int node = 0; node < machine.nodes(); ++node) {
      lane.push_back(
          {cores.representative(node, x), node, machine.ranks_on(node), cores.group(node, x)});
    }
  }
  return lanes;
}

void send_aggregation(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
                      const hierarchy::Machine& machine, const Parameters& parameters) {
  aggregate(builder, blocks, machine, parameters, lanes_of_columns(machine, parameters.cores));
}

}  // namespace weft::alltoall
