// The collective that a problem asks for, as a team of all ranks.
#pragma once

#include "gather/flat/team.hpp"
#include "plan/problem.hpp"

namespace weft::gather {

/// Broadcast, scatter, gather and allgather among all ranks, from input to output. The problem must
/// live longer.
Team whole(const plan::Problem& problem, int rank);

/// `bytes` bytes at `offset` of a space.
inline Slices at(plan::Space space, int owner, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return {};
  return {plan::Slice::contiguous(space, owner, offset, bytes)};
}

/// The blocks of `ranks` in a buffer of blocks of all, in as few slices as their places allow.
Slices blocks_at(const plan::Problem& problem, plan::Space space, int owner,
                 std::span<const int> ranks);
/// Their bytes.
std::uint64_t bytes_of(const plan::Problem& problem, std::span<const int> ranks);

}  // namespace weft::gather
