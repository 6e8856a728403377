// Problems, as flat algorithms see them.
#pragma once

#include "plan/problem.hpp"
#include "reduce/flat/ledger.hpp"
#include "reduce/flat/reduction.hpp"

namespace weft::reduce {

/// Whether the blocks of all lie side by side in rank order, from 0 on.
bool is_dense(const plan::Problem& problem);

/// The slices of the blocks of `ranks` in a buffer of blocks of all; as few as strides allow.
std::vector<plan::Slice> blocks(const plan::Problem& problem, plan::Space space, int owner,
                                std::span<const int> ranks);

/// Bytes of one rank's vector: of all its blocks for a reduce_scatter.
std::uint64_t vector_bytes(const plan::Problem& problem);

/// The reduction over all ranks. The blocks of a reduce_scatter that do not lie side by side are
/// packed into scratch unless `any_blocks` will do.
Reduction whole(Ledger& ledger, const plan::Problem& problem, bool any_blocks);

}  // namespace weft::reduce
