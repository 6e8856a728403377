// Placements of ranks on nodes that algorithms are checked on.
#pragma once

#include <cstdint>
#include <vector>

#include "hierarchy/machine.hpp"

namespace weft::cli {

/// Up to `count` different placements of `ranks` ranks: blocks as even as can be, dealt out in
/// turn, uneven blocks (1, 2, 3, ...), one rank a node, all on one node, then drawn at random
/// (uneven, interleaved, nodes in any order), from 3 ranks on half of them with sockets. Fewer
/// where there are no more: 1 rank has only one, 2 ranks have three. The same for the same
/// arguments, on every system.
std::vector<hierarchy::Machine> placements(int ranks, int count, std::uint64_t seed);

}  // namespace weft::cli
