// Chain: partial results pass from neighbour to neighbour towards the root, from both sides, in
// segments that follow one another.
//
//   0 -> 1 -> 2 <- 3 <- 4         root 2; segments travel behind each other like a pipeline
//
// With p members, vectors of n bytes and S segments, a reduce to root r:
//   rounds    max(r, p - 1 - r) + S - 1 once a segment's way is the longest part; counted as the
//             longest chain of messages max(r, p - 1 - r) + S - 1 (S for p = 2)
//   messages  S (p - 1) in all
//   bytes     (p - 1) n in all
//   reduced   (p - 1) n in all; a member n, the root 2 n where it has two neighbours
//   scratch   n where it is not the root's; two segments for the root between two neighbours
// allreduce: towards member 0 and back, 2 S (p - 1) messages.
//
// Source: Vadhiyar, Fagg, Dongarra, "Automatically Tuned Collective Communications", SC 2000, Table
// 1 (chain, segmented); from both sides, so that any root keeps the order of the members.
#include "reduce/flat/algorithms.hpp"
#include "reduce/flat/pipeline.hpp"

namespace weft::reduce {

TreePlace chain_place(int members, int root, int self) {
  TreePlace place;
  if (self <= root && self > 0) place.left = self - 1;
  if (self >= root && self + 1 < members) place.right = self + 1;
  if (self != root) place.parent = self < root ? self + 1 : self - 1;
  return place;
}

void reduce_chain(Ledger& ledger, const Reduction& reduction, const Parameters& parameters) {
  pipeline(ledger, reduction, chain_place(reduction.size(), reduction.root, reduction.self),
           parameters.segment, false);
}

void allreduce_chain(Ledger& ledger, const Reduction& reduction, const Parameters& parameters) {
  pipeline(ledger, reduction, chain_place(reduction.size(), 0, reduction.self), parameters.segment,
           true);
}

}  // namespace weft::reduce
