// Pairwise exchange around a ring: in step k send to rank+k and receive from rank-k.
//
//   step 1:  0 -> 1 -> 2 -> 3 -> 4 -> 0      step 2:  0 -> 2 -> 4 -> 1 -> 3 -> 0
//
// A step starts when both ops of the step before are complete: one message each way at a time, so
// ranks stay in step and a switch sees permutations only.
//
// With p members and blocks of m bytes, a member:
//   rounds    p - 1
//   messages  p - 1
//   bytes     (p - 1) m: every block crosses once
//   copied    m (its own block)
//   stage 0, scratch 0; blocks that are not one slice are packed into as much scratch
// Blocks of different sizes: the same without those of 0 bytes.
// In place: blocks are swapped one segment at a time (swap.hpp), in step s with s - rank.
//
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", IJHPCA 19(1), 2005, section 4.3 (the case of p that is no power of two).
#include "alltoall/flat/algorithms.hpp"
#include "alltoall/flat/swap.hpp"
#include "alltoall/flat/transfer.hpp"

namespace weft::alltoall {

Arrived pairwise_ring(plan::Builder& builder, const Exchange& exchange, const Parameters&) {
  Chain chain(builder, exchange);
  for (int step = 1; step < exchange.size(); ++step) {
    chain.step(around(exchange, exchange.self, step), around(exchange, exchange.self, -step));
  }
  return std::move(chain).finish();
}

void swap_pairwise_ring(plan::Builder& builder, int ranks, const BlockOfPeer& block,
                        const Parameters& /*parameters*/) {
  swap_blocks(builder, Digits::ring(ranks), 1, block);
}

}  // namespace weft::alltoall
