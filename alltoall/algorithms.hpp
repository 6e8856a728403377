// The algorithms themselves, one file each; users reach them by name through the registry.
#pragma once

#include "alltoall/flat/exchange.hpp"
#include "alltoall/registry.hpp"
#include "alltoall/schemes/lanes.hpp"

namespace weft::alltoall {

Arrived bruck(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters);
Arrived irecv_isend(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters);
Arrived pairwise_xor(plan::Builder& builder, const Exchange& exchange,
                     const Parameters& parameters);
Arrived pairwise_ring(plan::Builder& builder, const Exchange& exchange,
                      const Parameters& parameters);
Arrived fat_tree(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters);

/// The flat algorithm that a scheme runs between nodes.
const FlatAlgorithm& step_between(const Parameters& parameters);

void leader(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
            const hierarchy::Machine& machine, const Parameters& parameters);
void send_aggregation(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
                      const hierarchy::Machine& machine, const Parameters& parameters);
void receive_distribution(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
                          const hierarchy::Machine& machine, const Parameters& parameters);

void two_step(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
              const hierarchy::Machine& machine, const Parameters& parameters);

/// The lanes of SA: a column each, whose members send for all of their nodes to its cores alone.
std::vector<Lane> lanes_of_columns(const hierarchy::Machine& machine, int most_cores);

}  // namespace weft::alltoall
