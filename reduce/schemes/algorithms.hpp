// Hierarchical schemes of the reductions, one file each. registry/schemes.cpp gives them their
// names.
#pragma once

#include "algorithm/forms.hpp"

namespace weft::reduce {

using algorithm::Ledger;
using algorithm::Parameters;
using algorithm::Reduction;

using EmitScheme = void(Ledger& ledger, const plan::Problem& problem,
                        const hierarchy::Machine& machine, const Parameters& parameters);

/// Reduce and allreduce.
EmitScheme leader_reduce;
EmitScheme leader_reduce_scatter;
/// Scan and exscan.
EmitScheme leader_scan;
/// Allreduce.
EmitScheme everyone;
EmitScheme multi_bruck;
EmitScheme multi_doubling;
EmitScheme multi_ring;

}  // namespace weft::reduce
