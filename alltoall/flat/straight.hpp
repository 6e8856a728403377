// Exchange of single blocks among all ranks, straight from rank to rank.
#pragma once

#include "alltoall/flat/algorithms.hpp"

namespace weft::alltoall {

/// Whether the block of `bytes` bytes that this rank has for or from `peer` takes part.
using TakesPart = std::function<bool(int peer, std::uint64_t bytes)>;

/// An alltoall of all ranks, from input to output, by a flat algorithm; in place by its swaps, or
/// from a copy of all blocks where it passes blocks on.
Arrived straight(plan::Builder& builder, const hierarchy::LocalBlocks& blocks,
                 const algorithm::FlatForm& form, const Parameters& parameters,
                 const TakesPart& takes_part);

}  // namespace weft::alltoall
