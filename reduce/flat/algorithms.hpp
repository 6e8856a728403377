// Flat algorithms of the reductions, one file each. registry/flat_algorithms.cpp gives them their
// names.
#pragma once

#include "algorithm/forms.hpp"

namespace weft::reduce {

using algorithm::Ledger;
using algorithm::Parameters;
using algorithm::Reduction;

using Emit = void(Ledger& ledger, const Reduction& reduction, const Parameters& parameters);

Emit reduce_binomial;
Emit reduce_chain;
Emit reduce_binary;
Emit reduce_gather;
Emit reduce_halving_doubling;
Emit reduce_binary_blocks;
Emit reduce_ring;
Emit reduce_bine;

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
Emit allreduce_bine;
Emit allreduce_bine_doubling;

Emit reduce_scatter_pairwise;
Emit reduce_scatter_recursive_halving;
Emit reduce_scatter_recursive_doubling;
Emit reduce_scatter_ring;
Emit reduce_scatter_bine;

Emit scan_doubling;
Emit scan_chain;
Emit exscan_doubling;
Emit exscan_chain;

}  // namespace weft::reduce
