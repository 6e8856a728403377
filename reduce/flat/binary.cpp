// Binary tree: each member combines what its two children have with its own, and passes it on, in
// segments that follow one another.
//
//              3                  root 3 of 8: the members before it to the left, those behind it
//           /     \               to the right, each side with its middle on top, and so on
//          1       6
//         / \     / \             so every subtree is a run of neighbours, and operands stay in
//        0   2   5   7            order whatever the root
//               /
//              4
//
// With p members, vectors of n bytes and S segments, a reduce:
//   depth     1 + floor(lg (p - 1)) or less for a root in the middle; one more at an end
//   messages  S (p - 1) in all
//   bytes     (p - 1) n in all
//   reduced   (p - 1) n in all; a member at most 2 n
//   scratch   n where it is not the root's, and two segments for a member with two children
// allreduce: up to the middle member and down again, 2 S (p - 1) messages; a segment goes down
// while the next come up.
//
// Source: Vadhiyar, Fagg, Dongarra, "Automatically Tuned Collective Communications", SC 2000, Table
// 1 (binary, segmented); in order, so that operations need not commute.
#include "reduce/flat/algorithms.hpp"
#include "reduce/flat/pipeline.hpp"

namespace weft::reduce {

TreePlace binary_place(int members, int root, int self) {
  int parent = -1;
  int begin = 0;
  int end = members;
  int top = root;
  while (top != self) {
    parent = top;
    (self < top ? end : begin) = self < top ? top : top + 1;
    top = begin + (end - begin) / 2;
  }
  TreePlace place;
  place.parent = parent;
  if (begin < self) place.left = begin + (self - begin) / 2;
  if (self + 1 < end) place.right = self + 1 + (end - self - 1) / 2;
  return place;
}

void reduce_binary(Ledger& ledger, const Reduction& reduction, const Parameters& parameters) {
  pipeline(ledger, reduction, binary_place(reduction.size(), reduction.root, reduction.self),
           parameters.segment, false);
}

void allreduce_binary(Ledger& ledger, const Reduction& reduction, const Parameters& parameters) {
  const int p = reduction.size();
  pipeline(ledger, reduction, binary_place(p, p / 2, reduction.self), parameters.segment, true);
}

}  // namespace weft::reduce
