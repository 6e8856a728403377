// Reduce along a Bine tree (algorithm/bine.hpp): a binomial tree whose edges are two thirds as
// long.
//
//   root 2, p = 8:   1 <- 0, 2 <- 3, 5 <- 4, 6 <- 7      2 <- 1, 5 <- 6      2 <- 5
//
// With p members and vectors of n bytes, as with the binomial tree:
//   rounds    floor(lg p); the root receives ceil(lg p) messages
//   messages  p - 1 in all: one from each member but the root
//   bytes     (p - 1) n in all
//   reduced   (p - 1) n in all; the root ceil(lg p) n
//   scratch   3 n at most: one vector, and two that arrive (the root: two)
//
// A member has a run of neighbours on both sides of it, to which the next child's is next: so the
// order is kept where the tree is not shifted around the group. An operation that does not commute
// is reduced to the head, which sends the result to the root: one more message.
//
// Source: De Sensi et al., "Bine Trees", SC 2025, arXiv:2508.17311: the reverse of the broadcast.
#include <ranges>

#include "algorithm/bine.hpp"
#include "reduce/flat/accumulator.hpp"
#include "reduce/flat/algorithms.hpp"

namespace weft::reduce {

void reduce_bine(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  Accumulator vector(ledger, reduction.bytes, reduction.source, reduction.target);
  const int p = reduction.size();
  const int head = algorithm::bine_head(p);
  const int shift = reduction.commutative ? reduction.root + p - head : 0;
  const int place = (reduction.self + 2 * p - shift) % p;
  const auto member = [&](int at) { return reduction.member((at + shift) % p); };
  const auto tree = algorithm::bine_place(p, place);
  for (const int child : tree.children | std::views::reverse) {
    vector.combine(member(child), vector.whole(), side_of(child, place));
  }
  if (tree.parent >= 0) vector.send(member(tree.parent), vector.whole());
  const int root = reduction.root;
  if (member(head) == reduction.member(root)) {
    if (reduction.is_root()) vector.settle(vector.whole());
  } else if (place == head) {
    vector.send(reduction.member(root), vector.whole());
  } else if (reduction.is_root()) {
    vector.receive(member(head), vector.whole());
  }
}

}  // namespace weft::reduce
