// Exchanges in place: two ranks swap blocks that lie in the same bytes.
#pragma once

#include <functional>

#include "alltoall/flat/digits.hpp"
#include "plan/builder.hpp"

namespace weft::alltoall {

/// Blocks are swapped in segments of at most so much, and segments under way are held in at most so
/// much scratch.
inline constexpr std::uint64_t kSwapSegmentBytes = 128 << 10;
inline constexpr std::uint64_t kSwapScratchBytes = 1 << 20;

/// Swaps the block for each peer with the peer's own for this rank, of the same size; empty where
/// there is none. What comes waits in scratch until what it replaces has been sent:
///
///   recv scratch <- peer      both, then      copy output <- scratch
///   send output -> peer
///
/// The partner in step s is s - self (Digits), for both of the pair, so that both swap the same
/// segments in the same order; a segment waits only for segments before it. At most `window`
/// segments (0: any number) are under way at once, and as many as fit kSwapScratchBytes, each slot
/// of scratch as large as the largest segment of this rank.
void swap_blocks(plan::Builder& builder, const Digits& order, int window,
                 const std::function<plan::Slice(int peer)>& block);

}  // namespace weft::alltoall
