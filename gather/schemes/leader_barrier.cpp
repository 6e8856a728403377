// Barrier by leaders: each node gathers at one rank, these meet, then each lets its node go.
//
//   A1 A2 A3 -> A0 --.                  .--> A0 -> A1 A2 A3
//                     >-- A0 meets B0 --<
//   B1 B2 B3 -> B0 --'                  '--> B0 -> B1 B2 B3
//
// With N nodes, P ranks on each, `dissemination` between, `sequential` inside:
//   rounds    ceil(lg N) on the wire, 2 inside
//   messages  ceil(lg N) of each leader, of one byte
//   signals   2 (P - 1) on each node
//
// Source: the two levels of Huang et al., "PiP-MColl", 2023; the step between: Hensgen, Finkel,
// Manber, 1988.
#include "gather/flat/barriers.hpp"
#include "gather/schemes/algorithms.hpp"

namespace weft::gather {

using hierarchy::Machine;
using plan::Collective;

void leader_barrier(plan::Builder& builder, const plan::Problem& /*problem*/,
                    const Machine& machine, const Parameters& parameters) {
  const int self = builder.rank();
  const int node = machine.node_of(self);
  const auto local = machine.ranks_on(node);
  const auto near = [&machine, self](const std::vector<int>& members) {
    return
        [&machine, self, members](int member) { return machine.same_node(members[member], self); };
  };
  BarrierGroup inside{{local.begin(), local.end()}, machine.place_of(self), {}, {}};
  inside.near = near(inside.members);
  const auto between = [&](const Ops& all_are_here) {
    BarrierGroup leaders{{}, node, {}, all_are_here};
    for (int other = 0; other < machine.nodes(); ++other) {
      leaders.members.push_back(machine.ranks_on(other).front());
    }
    leaders.near = near(leaders.members);
    const auto emit = emit_of<algorithm::EmitBarrier>(*parameters.between, Collective::barrier);
    return emit(builder, leaders, parameters);
  };
  tree_barrier(builder, inside, parameters.inside->topology, 2, between);
}

}  // namespace weft::gather
