// What a choice is made from.
#pragma once

#include <vector>

#include "tune/algorithm.hpp"

namespace weft::tune {

/// Whether schemes are to read neighbours' buffers in place for a problem. What is small is faster
/// staged: a system call takes long, and where ranks share cores one that has staged its block goes
/// on, while one whose buffer is read waits for its readers. Measured (bench/README.md), not
/// simulated.
bool reads_in_place(const plan::Problem& problem, const Facts& facts);

/// The algorithms worth comparing for a problem, all of which may run there: each of the registry
/// as it is, and some with parameters that the literature or our measurements speak for. Far fewer
/// than all variants, which differ little from these or lose everywhere. One alone for a
/// deterministic reduction.
std::vector<Algorithm> candidates(const plan::Problem& problem, const Facts& facts);

/// Bytes of a lone block or vector, or of a block on average where there are many.
std::uint64_t block_bytes(const plan::Problem& problem);

}  // namespace weft::tune
