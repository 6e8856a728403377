// Binomial tree: in round k the members whose distance to the root has bit k as its lowest one send
// all that they have to the member 2^k nearer to it, and are done.
//
//   0 <- 1    2 <- 3    4 <- 5    6          3 rounds to reduce over 7 members
//   0 <------ 2         4 <------ 6
//   0 <---------------- 4
//
// allreduce: to member 0, then back along the same tree.
//
// With p members and vectors of n bytes, a reduce to a member:
//   rounds    floor(lg p), the depth of the tree; the root receives ceil(lg p) messages
//   messages  p - 1 in all: one from each member but the root
//   bytes     (p - 1) n in all
//   reduced   (p - 1) n in all; the root ceil(lg p) n
//   scratch   3 n at most: one vector, and two that arrive (the root: two)
// allreduce: 2 floor(lg p) rounds, 2 (p - 1) messages.
//
// A tree around any root combines in the order of the members from there on, so an operation that
// does not commute is reduced to member 0, which sends the result to the root: one more message.
//
// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, section 3.3;
// T_red,tree and T_all,tree.
#include "reduce/flat/accumulator.hpp"
#include "reduce/flat/algorithms.hpp"

namespace weft::reduce {

namespace {

/// Leaves the result with member `top`. Returns the distance of the edge to the parent, or the
/// first power of two that is p or more at the top.
int combine_upwards(Accumulator& vector, const Reduction& reduction, int top) {
  const int p = reduction.size();
  const auto around = [&](int distance) { return reduction.member((distance + top) % p); };
  const int place = (reduction.self + p - top) % p;
  int bit = 1;
  for (; bit < p; bit *= 2) {
    if (place & bit) {
      vector.send(around(place - bit), vector.whole());
      break;
    }
    if (place + bit < p) vector.combine(around(place + bit), vector.whole(), Operand::right);
  }
  return bit;
}

}  // namespace

void reduce_binomial(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  Accumulator vector(ledger, reduction.bytes, reduction.source, reduction.target);
  const int top = reduction.commutative ? reduction.root : 0;
  combine_upwards(vector, reduction, top);
  if (top != reduction.root && reduction.self == top) {
    vector.send(reduction.member(reduction.root), vector.whole());
  } else if (top != reduction.root && reduction.is_root()) {
    vector.receive(reduction.member(top), vector.whole());
  } else if (reduction.is_root()) {
    vector.settle(vector.whole());
  }
}

void allreduce_binomial(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  Accumulator vector(ledger, reduction.bytes, reduction.source, reduction.target);
  const int bit = combine_upwards(vector, reduction, 0);
  if (reduction.self == 0) {
    vector.settle(vector.whole());
  } else {
    vector.receive(reduction.member(reduction.self - bit), vector.whole());
  }
  for (int below = bit / 2; below > 0; below /= 2) {
    const int child = reduction.self + below;
    if (child < reduction.size()) vector.send(reduction.member(child), vector.whole());
  }
}

}  // namespace weft::reduce
