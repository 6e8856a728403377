// Small correct alltoallvs, in place too, for the tests of the plan room alone.
#pragma once

#include "tests/plan/cases.hpp"

namespace weft::plan::testing {

/// Random counts with zeros, in random order with gaps, on a random machine of 1 to `max_ranks`
/// ranks: between nodes direct, inside them through stages; or in place, by swaps through scratch.
Case random_alltoallv(std::mt19937& random, int max_ranks);

/// The problem alone.
Problem random_alltoallv_problem(std::mt19937& random, int ranks, bool in_place);

}  // namespace weft::plan::testing
