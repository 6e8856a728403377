// Candidates: the algorithms that a choice compares.
#pragma once

#include <cstdint>
#include <vector>

#include "tune/facts.hpp"

namespace weft::tune {

/// True if schemes are to read neighbours' buffers in place for a problem: by loads, and no small
/// blocks; by system calls only where may_pay_by_calls(). Where ranks share cores a rank that has
/// staged its block goes on, while a rank whose buffer is read waits for its readers. Measured
/// (bench/README.md), not simulated.
///
/// Whether a copy by a system call takes less time than two through a stage differs by machine:
/// from 0.4 to five times as long has been seen. Who runs the problem has to measure it.
bool reads_in_place(const plan::Problem& problem, const Facts& facts);

/// Bytes of an alltoall's block from which ranks may gain by system calls. Shorter blocks go
/// through stages in as little time: 2 to 8 ranks on 2 cores (docs/decisions.md, 2026-11-29).
inline constexpr std::uint64_t kLongForCalls = 64 << 10;

/// True for problems on one node whose ranks gain by reading neighbours' buffers by system calls on
/// some machines: long alltoalls. Other collectives gain by stages on all that were measured.
bool may_pay_by_calls(const plan::Problem& problem, const hierarchy::Machine& machine);

/// The algorithms to compare for a problem, all of which may run for it: each of the registry with
/// its default parameters, and some with parameters that the literature or our measurements
/// recommend. Far fewer than all variants, which differ little from these or lose everywhere. A
/// deterministic reduction has a single candidate.
std::vector<Algorithm> candidates(const plan::Problem& problem, const Facts& facts);

/// The size of a problem: bytes of its vector, or of a block, on average where blocks differ.
std::uint64_t block_bytes(const plan::Problem& problem);

}  // namespace weft::tune
