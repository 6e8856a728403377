// Pairwise exchange in an order that is free of congestion on fat trees of any size.
//
// A member's number is written with one digit for each level of the tree, `arity` members under a
// switch, `arity` of those switches under the next. In step s it sends to self + s and receives
// from self - s, digit by digit without carry.
//
//   6 members, arity 2: digits (pair, place)      step (1, 1):  0 1 | 2 3 | 4 5
//                                                               3 2 | 5 4 | 1 0   (the receivers)
//
// All members below a switch send to members below one other switch, each to another place there.
// So at every level a step needs each link at most once each way, whatever links the tree has
// chosen for its places, as long as there are as many up as down. A ring has that property only
// where its steps do not cut switches, and the exclusive or only for powers of two.
//
// A step starts when both ops of the step before are complete. Steps whose partner does not exist,
// where members do not fill the highest level, are left out.
//
// With p members and blocks of m bytes, a member:
//   rounds    p - 1 where a product of digits is p; else from p - 1 to that product less 1, which
//             is below p (1 + 1 / arity) (1 + 1 / arity^2) ...
//   messages  p - 1
//   bytes     (p - 1) m: every block crosses once
//   copied    m (its own block)
//   stage 0, scratch 0; blocks that are not one slice are packed into as much scratch
// Blocks of different sizes: the same without those of 0 bytes.
// In place: blocks are swapped one segment at a time (swap.hpp), in step s with s - self, digit by
// digit: as free of congestion.
//
// Source: Kumar, Kale, "Scaling All-to-All Multicast on Fat-tree Networks", ICPADS 2004, as Kumar,
// Mamidala, Panda, "Scaling Alltoall Collective on Multi-core Systems", 2008, section 2.4 has it:
// pairs by exclusive or are free of congestion, cyclic ones are not. Arities that are no powers of
// two are ours.
#include "alltoall/flat/algorithms.hpp"
#include "alltoall/flat/swap.hpp"
#include "alltoall/flat/transfer.hpp"

namespace weft::alltoall {

Arrived fat_tree(plan::Builder& builder, const Exchange& exchange, const Parameters& parameters) {
  Chain chain(builder, exchange);
  const Digits digits = Digits::tree(exchange.size(), parameters.arity);
  const auto member = [&](int number) { return number < exchange.size() ? number : -1; };
  for (int step = 1; step < digits.steps(); ++step) {
    chain.step(member(digits.add(exchange.self, step)),
               member(digits.subtract(exchange.self, step)));
  }
  return std::move(chain).finish();
}

void swap_fat_tree(plan::Builder& builder, int ranks, const BlockOfPeer& block,
                   const Parameters& parameters) {
  swap_blocks(builder, Digits::tree(ranks, parameters.arity), 1, block);
}

}  // namespace weft::alltoall
