// Blocks of the caller's buffers, as slices.
#pragma once

#include <span>
#include <vector>

#include "plan/problem.hpp"
#include "plan/slice.hpp"

namespace weft::hierarchy {

/// Block `index` of the input or output of `owner`.
inline plan::Slice block(const plan::Problem& problem, plan::Space space, int owner, int index) {
  return plan::Slice::contiguous(space, owner, static_cast<std::uint64_t>(index) * problem.stride,
                                 problem.block_bytes);
}

/// The blocks of `indices`, in that order, in as few slices as their strides allow.
std::vector<plan::Slice> blocks(const plan::Problem& problem, plan::Space space, int owner,
                                std::span<const int> indices);

}  // namespace weft::hierarchy
