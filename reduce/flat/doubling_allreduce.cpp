// Recursive doubling: in round k each member exchanges all that it has with the one whose index
// differs in bit k, and both combine the same.
//
//   0 <-> 1   2 <-> 3       round 0
//   0 <-> 2   1 <-> 3       round 1
//
// Where p is no power of two, r = p - 2^floor(lg p) members first give their vectors to neighbours,
// and get the result in the end.
//
// With p members and vectors of n bytes, and 1 where p is no power of two, else 0, as x:
//   rounds    floor(lg p) + 2 x; one less where data of late neighbours is needed late only
//   messages  a member that takes part floor(lg p), and one more with a removed neighbour; a
//   removed
//             one 1
//   bytes     n each message
//   reduced   floor(lg p) n, with a removed neighbour one n more; a removed one 0
//   scratch   two vectors that arrive, one where only two messages do
//
// Partners differ in one bit, so both have neighbouring runs of members, and the order is kept;
// both combine the same two operands, so all have the same grouping.
//
// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, section 3.4;
// T_all,r.d.
#include "algorithm/fold.hpp"
#include "reduce/flat/accumulator.hpp"
#include "reduce/flat/algorithms.hpp"

namespace weft::reduce {

void allreduce_recursive_doubling(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  Accumulator vector(ledger, reduction.bytes, reduction.source, reduction.target);
  const Fold fold(reduction.size());
  const int self = reduction.self;
  const int partner = fold.is_paired(self) ? reduction.member(fold.partner(self)) : -1;
  if (!fold.is_kept(self)) {
    vector.send(partner, vector.whole());
    vector.receive(partner, vector.whole());
    return;
  }
  if (partner >= 0) vector.combine(partner, vector.whole(), Operand::right);
  const int index = fold.index(self);
  for (int distance = 1; distance < fold.power(); distance *= 2) {
    const int other = index ^ distance;
    const int peer = reduction.member(fold.member(other));
    vector.send(peer, vector.whole());
    vector.combine(peer, vector.whole(), side_of(other, index));
  }
  vector.settle(vector.whole());
  if (partner >= 0) vector.send(partner, vector.whole());
}

}  // namespace weft::reduce
