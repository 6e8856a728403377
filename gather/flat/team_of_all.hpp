// The team of all ranks that a problem asks for.
#pragma once

#include "algorithm/blocks.hpp"
#include "gather/flat/tree.hpp"
#include "plan/problem.hpp"

namespace weft::gather {

using algorithm::blocks_at;
using algorithm::bytes_of;

/// Broadcast, scatter, gather and allgather among all ranks, from input to output. The problem must
/// live longer. UsageError for another collective.
Team team_of_all(const plan::Problem& problem, int rank);

/// `bytes` bytes at `offset` of a space; no slice for 0 bytes.
inline Slices at(plan::Space space, int owner, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return {};
  return {plan::Slice::contiguous(space, owner, offset, bytes)};
}

}  // namespace weft::gather
