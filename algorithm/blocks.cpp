#include "algorithm/blocks.hpp"

#include <algorithm>

#include "base/cast.hpp"

namespace weft::algorithm {

Slices blocks_at(const plan::Problem& problem, plan::Space space, int owner,
                 std::span<const int> ranks) {
  plan::JoinedSlices slices;
  for (const int rank : ranks) {
    const plan::Block block = problem.block(rank);
    slices.add(plan::Slice::contiguous(space, owner, block.offset, block.bytes));
  }
  return slices.take();
}

std::uint64_t bytes_of(const plan::Problem& problem, std::span<const int> ranks) {
  std::uint64_t bytes = 0;
  for (const int rank : ranks) bytes += problem.block(rank).bytes;
  return bytes;
}

std::uint64_t begin_of_part(std::uint64_t bytes, std::uint64_t grain, int parts, int part) {
  const std::uint64_t grains = ceil_div(bytes, grain);
  const auto count = static_cast<std::uint64_t>(parts);
  const auto index = static_cast<std::uint64_t>(part);
  return std::min(bytes, (grains / count * index + grains % count * index / count) * grain);
}

}  // namespace weft::algorithm
