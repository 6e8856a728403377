// Pairwise exchange by exclusive or: in step k the partner both ways is rank XOR k.
//
//   step 1:  0 <-> 1   2 <-> 3        step 2:  0 <-> 2   1 <-> 3        step 3:  0 <-> 3   1 <-> 2
//
// A step starts when both ops of the step before are complete. On fat trees the pairs of a step do
// not share links. When the number of members is no power of two, the partners run through those
// of the next power of two and the ones that do not exist are left out: a member then idles in
// such a step while others exchange.
//
// With p members and blocks of m bytes, a member:
//   rounds    p - 1 for powers of two; else between p - 1 and 2^ceil(lg p) - 1
//   messages  p - 1
//   bytes     (p - 1) m: every block crosses once
//   copied    m (its own block)
//   stage 0, scratch 0; blocks that are not one slice are packed into as much scratch
// Blocks of different sizes: the same without those of 0 bytes.
// In place: blocks are swapped one segment at a time (swap.hpp), with the same partners.
//
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", IJHPCA 19(1), 2005, section 4.3.
#include <bit>

#include "alltoall/flat/algorithms.hpp"
#include "alltoall/flat/swap.hpp"
#include "alltoall/flat/transfer.hpp"

namespace weft::alltoall {

Arrived pairwise_xor(plan::Builder& builder, const Exchange& exchange, const Parameters&) {
  Chain chain(builder, exchange);
  const auto steps = static_cast<int>(std::bit_ceil(exchange.members.size()));
  for (int step = 1; step < steps; ++step) {
    const int partner = exchange.self ^ step;
    if (partner < exchange.size()) chain.step(partner, partner);
  }
  return std::move(chain).finish();
}

void swap_pairwise_xor(plan::Builder& builder, int ranks, const BlockOfPeer& block,
                       const Parameters& /*parameters*/) {
  swap_blocks(builder, Digits::tree(ranks, 2), 1, block);
}

}  // namespace weft::alltoall
