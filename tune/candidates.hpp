// Candidates: the algorithms that a choice compares.
#pragma once

#include <vector>

#include "tune/facts.hpp"

namespace weft::tune {

/// True if schemes are to read neighbours' buffers in place for a problem: by loads alone, and no
/// small blocks. By system calls a copy takes two to five times as long as two copies through
/// stages that stay in the caches; and where ranks share cores a rank that has staged its block
/// goes on, while a rank whose buffer is read waits for its readers. Measured (bench/README.md),
/// not simulated.
bool reads_in_place(const plan::Problem& problem, const Facts& facts);

/// The algorithms to compare for a problem, all of which may run for it: each of the registry with
/// its default parameters, and some with parameters that the literature or our measurements
/// recommend. Far fewer than all variants, which differ little from these or lose everywhere. A
/// deterministic reduction has a single candidate.
std::vector<Algorithm> candidates(const plan::Problem& problem, const Facts& facts);

/// The size of a problem: bytes of its vector, or of a block, on average where blocks differ.
std::uint64_t block_bytes(const plan::Problem& problem);

}  // namespace weft::tune
