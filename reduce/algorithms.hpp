// The algorithms themselves, one file each; users reach them by name through the registry.
#pragma once

#include "reduce/registry.hpp"

namespace weft::reduce {

using Emit = void(Ledger& ledger, const Reduction& reduction, const Parameters& parameters);

Emit reduce_binomial;
Emit reduce_chain;
Emit reduce_binary;
Emit reduce_gather;
Emit reduce_halving_doubling;
Emit reduce_binary_blocks;
Emit reduce_ring;

Emit allreduce_recursive_doubling;
Emit allreduce_binomial;
Emit allreduce_chain;
Emit allreduce_binary;
Emit allreduce_allgather;
Emit allreduce_halving_doubling;
Emit allreduce_binary_blocks;
Emit allreduce_ring;
Emit allreduce_neighbour_ring;
Emit allreduce_adaptive;

Emit scatter_pairwise;
Emit scatter_recursive_halving;
Emit scatter_recursive_doubling;
Emit scatter_ring;

Emit scan_doubling;
Emit scan_chain;
Emit exscan_doubling;
Emit exscan_chain;

/// The flat algorithm that a scheme runs between nodes.
const FlatAlgorithm& step_between(plan::Collective collective, const Parameters& parameters);

using EmitScheme = void(Ledger& ledger, const plan::Problem& problem,
                        const hierarchy::Machine& machine, const Parameters& parameters);

EmitScheme leader_reduce;
EmitScheme leader_reduce_scatter;
EmitScheme leader_scan;
EmitScheme multi_bruck;
EmitScheme everyone;
EmitScheme multi_doubling;
EmitScheme multi_ring;

}  // namespace weft::reduce
