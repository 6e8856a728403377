#include "algorithm/blocks.hpp"

namespace weft::algorithm {

Slices blocks_at(const plan::Problem& problem, plan::Space space, int owner,
                 std::span<const int> ranks) {
  Slices slices;
  slices.reserve(ranks.size());
  for (const int rank : ranks) {
    const plan::Block block = problem.block(rank);
    slices.push_back(plan::Slice::contiguous(space, owner, block.offset, block.bytes));
  }
  return plan::coalesce(slices);
}

std::uint64_t bytes_of(const plan::Problem& problem, std::span<const int> ranks) {
  std::uint64_t bytes = 0;
  for (const int rank : ranks) bytes += problem.block(rank).bytes;
  return bytes;
}

}  // namespace weft::algorithm
