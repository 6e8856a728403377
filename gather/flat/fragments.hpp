// The flat algorithms of this room as fragments: each adds its ops for one team to a plan under
// construction, and says what has arrived when. Head comments of the .cpp files have the ideas, the
// costs and the sources.
//
// The counts there are of a team of p members with blocks of m bytes each in one slice, n = p m.
// Blocks without bytes send no message.
#pragma once

#include "gather/flat/tree.hpp"

namespace weft::gather {

/// All blocks from the root to all members, as one message along each edge of the tree.
Arrived tree_broadcast(plan::Builder& builder, const Team& team, Topology topology, int radix = 2);
/// The root's blocks, each to its member; along an edge go those of the subtree.
Arrived tree_scatter(plan::Builder& builder, const Team& team, Topology topology, int radix = 2);
/// Each member's block to the root; along an edge come those of the subtree.
Arrived tree_gather(plan::Builder& builder, const Team& team, Topology topology, int radix = 2);

Arrived ring_allgather(plan::Builder& builder, const Team& team);
Arrived doubling_allgather(plan::Builder& builder, const Team& team);
Arrived bruck_allgather(plan::Builder& builder, const Team& team, int radix = 2);
Arrived neighbor_allgather(plan::Builder& builder, const Team& team);
/// Gather to the first member, then broadcast of all blocks as one, both along the tree.
Arrived gather_broadcast(plan::Builder& builder, const Team& team, Topology topology,
                         int radix = 2);

using Allgather = Arrived (*)(plan::Builder& builder, const Team& team);
/// How members that share a node move blocks without messages.
enum class InsideForm {
  staged,  ///< By way of stages, where a block neither lies nor is wanted in one.
  direct,  ///< From and into the buffers of the caller of other ranks.
};
/// A team of any kind whose members all share the node: needs team.stages, and sources and targets
/// that tell about all members.
Arrived inside_node(plan::Builder& builder, const Team& team, InsideForm form);

/// Broadcast of one block, cut into p: a binomial scatter, then an allgather.
Arrived scatter_allgather(plan::Builder& builder, const Team& team, Allgather allgather);

}  // namespace weft::gather
