// Counts for alltoallv, made up from a few words.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "plan/problem.hpp"

namespace weft::cli {

/// equal: `bytes` for each pair. random: from none to twice as many. sparse: seven of eight pairs
/// have none. skew: rank 0 has `bytes` for each rank and each for it, the others nothing.
inline constexpr std::array<std::string_view, 4> kCounts = {"random", "equal", "sparse", "skew"};

/// Gives an alltoallv its blocks: of the kind that `counts` names and of the problem's block_bytes,
/// side by side, or as far apart as its stride is above its block_bytes. The same in every run.
/// UsageError lists the kinds.
void set_counts(plan::Problem& problem, std::string_view counts);

}  // namespace weft::cli
