// Hierarchical schemes of alltoall, one file each. registry/schemes.cpp gives them their names.
#pragma once

#include "algorithm/forms.hpp"
#include "alltoall/schemes/lanes.hpp"

namespace weft::alltoall {

using algorithm::Parameters;

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
