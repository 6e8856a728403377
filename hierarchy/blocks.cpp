#include "hierarchy/blocks.hpp"

namespace weft::hierarchy {

std::vector<plan::Slice> blocks(const plan::Problem& problem, plan::Space space, int owner,
                                std::span<const int> indices) {
  std::vector<plan::Slice> slices;
  slices.reserve(indices.size());
  for (const int index : indices) slices.push_back(block(problem, space, owner, index));
  return plan::coalesce(slices);
}

}  // namespace weft::hierarchy
