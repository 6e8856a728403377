// Flat algorithms of broadcast, scatter, gather and allgather, one file each: they add their ops
// for one team to a plan under construction. registry/flat_algorithms.cpp gives them their names.
//
// The costs at the heads of the files are those of a team of p members with blocks of m bytes each
// in one slice, n = p m. Blocks without bytes send no message.
#pragma once

#include "algorithm/parameters.hpp"
#include "gather/flat/tree.hpp"

namespace weft::gather {

using algorithm::CopyForm;
using algorithm::Parameters;

/// All blocks from the root to all members, as one message along each edge of the tree.
Arrived tree_broadcast(plan::Builder& builder, const Team& team, Topology topology, int radix = 2);
/// The same along a Bine tree.
Arrived bine_broadcast(plan::Builder& builder, const Team& team);
/// The root's blocks, each to its member; along an edge go those of the subtree.
Arrived tree_scatter(plan::Builder& builder, const Team& team, Topology topology, int radix = 2);
/// Each member's block to the root; along an edge come those of the subtree.
Arrived tree_gather(plan::Builder& builder, const Team& team, Topology topology, int radix = 2);

Arrived ring_allgather(plan::Builder& builder, const Team& team);
Arrived doubling_allgather(plan::Builder& builder, const Team& team);
Arrived bruck_allgather(plan::Builder& builder, const Team& team, int radix = 2);
Arrived neighbor_allgather(plan::Builder& builder, const Team& team);
Arrived bine_allgather(plan::Builder& builder, const Team& team);
/// Gather to the first member, then broadcast of all blocks as one, both along the tree.
Arrived gather_broadcast(plan::Builder& builder, const Team& team, Topology topology,
                         int radix = 2);

using Allgather = Arrived (*)(plan::Builder& builder, const Team& team);
/// Broadcast of one block, cut into p: a binomial scatter, then an allgather.
Arrived scatter_allgather(plan::Builder& builder, const Team& team, Allgather allgather);

/// A team of any kind whose members all share the node, without messages: needs team.stages, and
/// sources and targets that tell about all members.
Arrived copy_inside_node(plan::Builder& builder, const Team& team, CopyForm form);

// The same as algorithm::EmitTeam, for the registry.

using TreeFragment = Arrived (*)(plan::Builder& builder, const Team& team, Topology topology,
                                 int radix);

template <TreeFragment fragment, Topology topology>
Arrived along(plan::Builder& builder, const Team& team, const Parameters& parameters) {
  return fragment(builder, team, topology, parameters.radix);
}

template <Allgather fragment>
Arrived allgather_by(plan::Builder& builder, const Team& team, const Parameters& /*parameters*/) {
  return fragment(builder, team);
}

inline Arrived broadcast_by_bine(plan::Builder& builder, const Team& team,
                                 const Parameters& /*parameters*/) {
  return bine_broadcast(builder, team);
}

/// Broadcast.
template <Allgather fragment>
Arrived by_parts(plan::Builder& builder, const Team& team, const Parameters& /*parameters*/) {
  return scatter_allgather(builder, team, fragment);
}

inline Arrived allgather_by_bruck(plan::Builder& builder, const Team& team,
                                  const Parameters& parameters) {
  return bruck_allgather(builder, team, parameters.radix);
}

}  // namespace weft::gather
