// Barrier with every rank of a node on the network: dissemination among nodes with the radix P + 1,
// of which each of the P ranks takes one digit. The ranks of a node meet before the first round and
// after each.
//
//   3 ranks a node, 16 nodes:  weight 1: ranks 0, 1, 2 tell the nodes at 1, 2, 3
//                              weight 4: those at 4, 8, 12
//
// With N nodes, P ranks on each:
//   rounds    ceil(log_(P+1) N) on the wire; inside, ceil(lg P) for each and before the first
//   messages  of a rank at most one a round, of one byte
//   signals   ceil(lg P) of each rank for each round and before the first
//
// Source: the rounds of Huang et al., "PiP-MColl: Process-in-Process-based Multi-object MPI
// Collectives", 2023, section III-A2, with nothing to carry.
#include <algorithm>

#include "gather/schemes/algorithms.hpp"
#include "gather/schemes/node_rounds.hpp"

namespace weft::gather {

using hierarchy::Machine;

void multi_object_barrier(plan::Builder& builder, const plan::Problem& /*problem*/,
                          const Machine& machine, const Parameters& /*parameters*/) {
  const int self = builder.rank();
  const int node = machine.node_of(self);
  const NodeRounds rounds(machine);
  const auto meet = [&](Ops ready) {
    return dissemination_barrier(builder, group_on_node(machine, self, std::move(ready)));
  };
  Ops known = meet({});
  for (std::int64_t weight = 1; weight < machine.nodes(); weight *= rounds.radix()) {
    Ops heard = known;
    rounds.for_each_of(self, static_cast<int>(weight), [&](int digit, int distance, int) {
      const plan::Slice byte = builder.allocate_scratch(1);
      builder.send(rounds.peer(node, -distance, digit), byte, known);
      heard.push_back(
          builder.recv(rounds.peer(node, distance, digit), builder.allocate_scratch(1)));
    });
    known = meet(std::move(heard));
  }
}

}  // namespace weft::gather
