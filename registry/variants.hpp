// Variants: every algorithm with all parameters that make a difference.
#pragma once

#include <vector>

#include "registry/algorithm.hpp"

namespace weft::registry {

/// The algorithms that `weft check` proves: every flat algorithm with the values of its parameters
/// that make a difference on `ranks` ranks, with segments of `segment_bytes`; and every scheme with
/// each flat algorithm between nodes, each step inside nodes, 1, 2 and all leaders or cores, a
/// leader for each socket, direct and staged. All are for the collective; some may refuse a problem
/// or machine.
std::vector<Algorithm> variants(plan::Collective collective, int ranks,
                                std::uint64_t segment_bytes = 4096);

}  // namespace weft::registry
