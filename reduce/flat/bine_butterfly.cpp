// Bine butterflies (algorithm/bine.hpp): recursive halving and doubling whose partners are 1, 1, 3,
// 5, 11, ... apart instead of 1, 2, 4, 8, 16, ...
//
//   p = 8    0-1 2-3 4-5 6-7    half of the vector
//            0-7 2-1 4-3 6-5    a quarter
//            0-3 2-5 4-7 6-1    an eighth, and back
//
// The vector is cut in p' = 2^floor(lg p) parts. After a step a member keeps the first or the
// second half of what it had, as the bit of that step in its label says, so that partners of later
// steps have the same. The r = p - p' members that are too many are folded in before, as in
// recursive halving and doubling (allreduce) or recursive halving (reduce_scatter).
//
// With vectors of n bytes, blocks of n/p, n a multiple of 2 p' elements:
//                            r = 0                r > 0, the busiest member
//   allreduce rounds         2 lg p               2 lg p' + 3, or one less
//     messages               2 lg p               2 lg p' + 2
//     bytes                  2 (1 - 1/p) n        n/2 + 2 (1 - 1/p') n + n
//     reduced                (1 - 1/p) n          n/2 + (1 - 1/p') n
//     copied                 0
//   reduce_scatter rounds    at most lg p + 1     at most lg p' + 2
//     messages               at most lg p + 1     at most lg p' + 2
//     bytes                  at most n            at most n; a removed one n
//     reduced                (1 - 1/p) n          n + 2 (p' - 1) n/p at most
//     copied                 at most n/p
//     scratch                n, and what arrives
//
// In a reduce_scatter a member ends with the part whose number is its label backwards, and sends it
// to whom it belongs: one more message, of n/p, where the paper would else copy all n bytes into
// another order beforehand.
//
// Doubling (`bine-doubling`) exchanges whole vectors, the farthest partners first: so those that
// have exchanged are of one group, and all combine the same operands in the same groups.
//   rounds, messages, bytes, reduced    as recursive doubling
//
// Members that are apart are combined first: the operation must commute.
//
// Source: De Sensi et al., "Bine Trees", SC 2025, arXiv:2508.17311: reduce-scatter with distance
// doubling and vector halving, allgather the other way round; "send" to bring parts in order.
#include "algorithm/bine.hpp"
#include "reduce/flat/algorithms.hpp"
#include "reduce/flat/folded_scatter.hpp"
#include "reduce/flat/halves.hpp"

namespace weft::reduce {

namespace {

using algorithm::BineButterfly;

/// What remains of 2^k parts after `steps` steps of a member with this label, as the numbers of the
/// first part and of the one behind the last.
struct Held {
  Held(const BineButterfly& butterfly, int label, int steps) : last(butterfly.members()) {
    for (int step = 0; step < steps; ++step) {
      const int middle = first + (last - first) / 2;
      ((label >> step & 1) != 0 ? first : last) = middle;
    }
  }

  int first = 0;
  int last;
};

/// A member, by its index in the fold, and its partner in a step.
class Halving {
 public:
  Halving(const Reduction& reduction, const Fold& fold, int index)
      : reduction_(reduction), fold_(fold), index_(index), butterfly_(fold.power()) {}

  const BineButterfly& butterfly() const { return butterfly_; }
  int partner(int step) const { return butterfly_.partner(index_, step); }
  int rank_of(int index) const { return reduction_.member(fold_.member(index)); }
  Held held(int index, int steps) const { return {butterfly_, butterfly_.label(index), steps}; }
  /// The one part that is left in the end.
  int part_of(int index) const { return held(index, butterfly_.steps()).first; }
  /// Who has this part then.
  int holder_of(int part) const {
    int label = 0;
    for (int step = 0; step < butterfly_.steps(); ++step) {
      label |= (part >> (butterfly_.steps() - 1 - step) & 1) << step;
    }
    return butterfly_.member_of(label);
  }

  /// All steps; `block(first, last)`: where these parts lie.
  template <class BlockOf>
  void scatter(Accumulator& vector, BlockOf block) const {
    for (int step = 0; step < butterfly_.steps(); ++step) {
      const int other = partner(step);
      const Held theirs = held(other, step + 1);
      const Held own = held(index_, step + 1);
      vector.send(rank_of(other), block(theirs.first, theirs.last));
      vector.combine(rank_of(other), block(own.first, own.last), Operand::right);
    }
  }

 private:
  const Reduction& reduction_;
  const Fold& fold_;
  int index_;
  BineButterfly butterfly_;
};

}  // namespace

void allreduce_bine(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  Accumulator vector(ledger, reduction.bytes, reduction.source, reduction.target);
  const Fold fold(reduction.size());
  const int self = reduction.self;
  fold_in_halves(vector, reduction, fold);
  if (!fold.is_kept(self)) {
    vector.receive(reduction.member(fold.partner(self)), vector.whole());
    return;
  }
  const Halving halving(reduction, fold, fold.index(self));
  const Cut cut(reduction.bytes, reduction.grain, fold.power());
  const auto block = [&](int first, int last) { return cut.parts_between(first, last); };
  halving.scatter(vector, block);
  for (int step = halving.butterfly().steps() - 1; step >= 0; --step) {
    const int other = halving.partner(step);
    const Held own = halving.held(fold.index(self), step + 1);
    const Held theirs = halving.held(other, step + 1);
    vector.send(halving.rank_of(other), block(own.first, own.last));
    vector.receive(halving.rank_of(other), block(theirs.first, theirs.last));
  }
  vector.settle(vector.whole());
  if (fold.is_paired(self)) vector.send(reduction.member(fold.partner(self)), vector.whole());
}

void allreduce_bine_doubling(Ledger& ledger, const Reduction& reduction, const Parameters&) {
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
  const BineButterfly butterfly(fold.power());
  const int index = fold.index(self);
  for (int step = butterfly.steps() - 1; step >= 0; --step) {
    const int other = butterfly.partner(index, step);
    const int peer = reduction.member(fold.member(other));
    vector.send(peer, vector.whole());
    vector.combine(peer, vector.whole(), side_of(other, index));
  }
  vector.settle(vector.whole());
  if (partner >= 0) vector.send(partner, vector.whole());
}

void reduce_scatter_bine(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  const int self = reduction.self;
  if (reduction.size() == 1) {
    return ledger.copy(reduction.target, part_of(reduction.source, reduction.block(self)));
  }
  const Fold fold(reduction.size());
  const Halving halving(reduction, fold, fold.index(self));
  Accumulator vector(ledger, reduction.bytes, reduction.source, {});
  const int partner = fold.is_paired(self) ? reduction.member(fold.partner(self)) : -1;
  const int holder = halving.holder_of(fold.index(self));  // of this member's own block
  if (!fold.is_kept(self)) {
    vector.send(partner, vector.whole());
    return ledger.recv(halving.rank_of(holder), reduction.target);
  }
  if (partner >= 0) vector.combine(partner, vector.whole(), Operand::right);
  halving.scatter(
      vector, [&](int first, int last) { return blocks_between(reduction, fold, first, last); });
  const int owner = fold.member(halving.part_of(fold.index(self)));
  if (fold.is_paired(owner)) {
    const int removed = fold.partner(owner);
    vector.send(reduction.member(removed), reduction.block(removed));
  }
  if (owner != self) {
    vector.send(reduction.member(owner), reduction.block(owner));
    ledger.recv(halving.rank_of(holder), reduction.target);
  } else if (!reduction.target.empty()) {
    ledger.copy(reduction.target, vector.settle(reduction.block(self)));
  }
}

}  // namespace weft::reduce
