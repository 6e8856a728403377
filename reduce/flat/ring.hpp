// The two halves of ring algorithms.
#pragma once

#include <functional>

#include "algorithm/reduction.hpp"
#include "reduce/flat/accumulator.hpp"

namespace weft::reduce {

/// Reduces to each member its block, in p - 1 steps: to the member `step` ahead its block of one's
/// own vector, from the one `step` behind the own block of that one's. Returns where the result
/// is: in `target`, or in scratch where that is empty.
plan::Slice pairwise_scatter(Ledger& ledger, const Reduction& reduction,
                             const std::vector<Block>& blocks, const plan::Slice& target,
                             std::uint64_t segment_bytes);

/// Passes blocks of `vector` around a ring until every member has all, in p - 1 steps, when each
/// has its own.
void ring_allgather(Ledger& ledger, const Reduction& reduction, const std::vector<Block>& blocks,
                    const plan::Slice& vector, std::uint64_t segment_bytes);

/// The vector in a block for each member.
std::vector<Block> even_blocks(const Reduction& reduction);

}  // namespace weft::reduce
