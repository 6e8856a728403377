// Barrier by leaders: each node gathers at one rank, these meet, then each lets its node go. The
// root leads its node, the lowest rank any other.
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
#include <algorithm>
#include <utility>
#include <vector>

#include "gather/flat/barriers.hpp"
#include "gather/schemes/algorithms.hpp"

namespace weft::gather {

using hierarchy::Machine;
using plan::Collective;

namespace {

/// The ranks of a node, its leader first: the root, or the lowest.
std::vector<int> led_ranks_on(const Machine& machine, int node, int root) {
  const auto local = machine.ranks_on(node);
  std::vector<int> ranks(local.begin(), local.end());
  if (machine.node_of(root) == node) std::swap(ranks.front(), ranks[machine.place_of(root)]);
  return ranks;
}

}  // namespace

void leader_barrier(plan::Builder& builder, const plan::Problem& problem, const Machine& machine,
                    const Parameters& parameters) {
  const int self = builder.rank();
  const int node = machine.node_of(self);
  const auto near = [&machine, self](const std::vector<int>& members) {
    return
        [&machine, self, members](int member) { return machine.same_node(members[member], self); };
  };
  BarrierGroup inside{led_ranks_on(machine, node, problem.root), 0, {}, {}};
  inside.self = static_cast<int>(std::ranges::find(inside.members, self) - inside.members.begin());
  inside.near = near(inside.members);
  const auto between = [&](const Ops& all_are_here) {
    BarrierGroup leaders{{}, node, {}, all_are_here};
    for (int other = 0; other < machine.nodes(); ++other) {
      leaders.members.push_back(led_ranks_on(machine, other, problem.root).front());
    }
    leaders.near = near(leaders.members);
    const auto emit = emit_of<algorithm::EmitBarrier>(*parameters.between, Collective::barrier);
    return emit(builder, leaders, parameters);
  };
  tree_barrier(builder, inside, parameters.inside->topology, 2, between);
}

}  // namespace weft::gather
