// The reduction over all ranks that a problem asks for.
#pragma once

#include "plan/problem.hpp"
#include "reduce/flat/cut.hpp"

namespace weft::reduce {

/// Whether the blocks of all lie side by side in rank order, from 0 on.
bool is_dense(const plan::Problem& problem);

/// Bytes of one rank's vector: of all its blocks for a reduce_scatter.
std::uint64_t vector_bytes(const plan::Problem& problem);

/// The reduction over all ranks. The blocks of a reduce_scatter that do not lie side by side are
/// packed into scratch unless `any_blocks` will do.
Reduction reduction_of_all(Ledger& ledger, const plan::Problem& problem, bool any_blocks);

}  // namespace weft::reduce
