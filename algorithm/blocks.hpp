// Slices of the blocks of several ranks, in a buffer of blocks of all.
#pragma once

#include <span>

#include "algorithm/team.hpp"
#include "plan/problem.hpp"

namespace weft::algorithm {

/// The blocks of `ranks`, in as few slices as their places allow.
Slices blocks_at(const plan::Problem& problem, plan::Space space, int owner,
                 std::span<const int> ranks);

/// Bytes of the blocks of `ranks`.
std::uint64_t bytes_of(const plan::Problem& problem, std::span<const int> ranks);

/// Where a part of `bytes` bytes begins that are cut in `parts` at multiples of `grain`, as evenly
/// as can be; at `parts`: where they end.
std::uint64_t begin_of_part(std::uint64_t bytes, std::uint64_t grain, int parts, int part);

}  // namespace weft::algorithm
