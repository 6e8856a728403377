// Aggregation: a scheme gathers blocks, exchanges them along its lanes, and distributes them.
#pragma once

#include "algorithm/parameters.hpp"
#include "alltoall/schemes/lanes.hpp"
#include "alltoall/schemes/stage_layout.hpp"
#include "hierarchy/local_blocks.hpp"

namespace weft::alltoall {

/// Adds the alltoall of one rank by lanes to a plan:
///
///   gather      ranks put their blocks for other nodes into the stages of the members that send
///               them (a member that sends its own alone does without), straight or in two steps
///   exchange    among the members of each lane, by the step between nodes
///   inside      blocks within the node, while the messages are on their way
///   distribute  ranks take what came for them out of the stages of the members that received it
///               (what is for the member alone goes straight to its output)
///
/// Blocks above parameters.aggregate take no part: they go straight from rank to rank, at the same
/// time. Both ends know the size of a block, so they agree.
///
/// In place a rank sends nothing out of its output but from stages, and writes to a block only
/// after it has copied it out; blocks above `aggregate` are swapped (swap.hpp).
void aggregate(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
               const hierarchy::Machine& machine, const algorithm::Parameters& parameters,
               std::span<const Lane> lanes, Gather gather = Gather::straight);

}  // namespace weft::alltoall
