#include "reduce/flat/reduction_of_all.hpp"

#include <numeric>

#include "algorithm/blocks.hpp"

namespace weft::reduce {

using plan::Collective;
using plan::Slice;
using plan::Space;

bool is_dense(const plan::Problem& problem) {
  std::uint64_t end = 0;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const Block block = problem.block(rank);
    if (block.bytes > 0 && block.offset != end) return false;
    end += block.bytes;
  }
  return true;
}

std::uint64_t vector_bytes(const plan::Problem& problem) {
  if (problem.collective != Collective::reduce_scatter) return problem.block_bytes;
  std::uint64_t bytes = 0;
  for (int rank = 0; rank < problem.ranks; ++rank) bytes += problem.block(rank).bytes;
  return bytes;
}

Reduction reduction_of_all(Ledger& ledger, const plan::Problem& problem, bool any_blocks) {
  const int rank = ledger.builder().rank();
  Reduction reduction;
  reduction.members.resize(static_cast<std::size_t>(problem.ranks));
  std::iota(reduction.members.begin(), reduction.members.end(), 0);
  reduction.self = rank;
  reduction.root = problem.root;
  reduction.bytes = vector_bytes(problem);
  reduction.grain = problem.grain();
  reduction.commutative = problem.commutative;
  reduction.source = Slice::contiguous(Space::input, rank, 0, problem.input_bytes(rank));
  reduction.target = Slice::contiguous(Space::output, rank, 0, problem.output_bytes(rank));
  if (problem.collective != Collective::reduce_scatter) return reduction;
  const bool pack = !any_blocks && !is_dense(problem);
  std::uint64_t at = 0;
  for (const int index : reduction.members) {
    Block block = problem.block(index);
    // An empty block may lie anywhere; side by side it lies where the next one begins.
    if (!any_blocks) block.offset = at;
    at += block.bytes;
    reduction.blocks.push_back(block);
  }
  if (pack) {
    const Slice packed = ledger.builder().allocate_scratch(reduction.bytes);
    ledger.gather(packed, algorithm::blocks_at(problem, Space::input, rank, reduction.members));
    reduction.source = packed;
  }
  return reduction;
}

}  // namespace weft::reduce
