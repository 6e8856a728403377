// Variants: every algorithm with all parameters that make a difference.
#pragma once

#include <vector>

#include "registry/algorithm.hpp"

namespace weft::registry {

/// Every flat algorithm with the values of its parameters that make a difference on `ranks` ranks,
/// segments being of `segment_bytes`, and every scheme with each of those between nodes, each step
/// inside nodes, 1, 2 and all leaders or cores, a leader a socket, direct and staged: what `weft
/// check` proves. Those that are not for the collective at all are left out; a problem or machine
/// may refuse some.
std::vector<Algorithm> variants(plan::Collective collective, int ranks,
                                std::uint64_t segment_bytes = 4096);

}  // namespace weft::registry
