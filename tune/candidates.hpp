// What a choice is made from.
#pragma once

#include <vector>

#include "tune/algorithm.hpp"

namespace weft::tune {

/// From here on ranks that can do so read their neighbours' buffers in place: smaller ones are
/// faster staged, as a read is a system call. Measured (bench/README.md), not simulated.
inline constexpr std::uint64_t kDirectBytes = 16 << 10;

/// The algorithms worth comparing for a problem, all of which may run there: each of the registry
/// as it is, and some with parameters that the literature or our measurements speak for. Far fewer
/// than all variants, which differ little from these or lose everywhere. One alone for a
/// deterministic reduction.
std::vector<Algorithm> candidates(const plan::Problem& problem, const Facts& facts);

/// Bytes of a lone block or vector, or of a block on average where there are many.
std::uint64_t block_bytes(const plan::Problem& problem);

}  // namespace weft::tune
