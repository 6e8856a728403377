// Neighbourhood exchange: each rank has blocks for some ranks, its neighbours, and knows nothing of
// the others.
#pragma once

#include <cstdint>

#include "hierarchy/machine.hpp"
#include "plan/edge.hpp"
#include "plan/plan.hpp"

namespace weft::alltoall {

/// The plan of one rank from its own edges, those of `rank` to itself included. On a node the edges
/// from one rank to another go through a slot of the sender's stage where they have `most_in_slot`
/// bytes or less together, the same on all ranks; 0: none do. UsageError where an edge names no
/// rank of the machine, or those to itself do not agree.
plan::Plan neighbours(const plan::Edges& edges, const hierarchy::Machine& machine, int rank,
                      std::uint64_t most_in_slot);

/// The stage that any such plan takes on a node of `places` ranks.
std::uint64_t neighbours_stage_bytes(int places, std::uint64_t most_in_slot);

}  // namespace weft::alltoall
