// Contract of each collective: its output as MPI defines it, written once and apart from the
// algorithms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/edge.hpp"
#include "plan/problem.hpp"

namespace weft::plan {

/// `bytes` bytes of a rank's output at `offset` must hold the bytes at `origin_offset` of the
/// inputs of `origins`, reduced in that order (a single origin: just its bytes). In place, of
/// their outputs at entry.
struct Expectation {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t origin_offset = 0;
  std::vector<int> origins;
};

/// All that `rank` must find in its output, by ascending offset. Bytes of the output that no
/// expectation covers must be left as they were.
std::vector<Expectation> contract(const Problem& problem, int rank);
/// The same of a neighbourhood exchange, of the edges of all ranks, by rank.
std::vector<Expectation> contract(std::span<const Edges> edges, int rank);

}  // namespace weft::plan
