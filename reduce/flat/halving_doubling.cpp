// Recursive halving and doubling: a reduce-scatter that halves the vector and doubles the distance,
// then the same way back as an allgather (allreduce) or a gather (reduce).
//
//   p = 13, r = 5: 0-1, 2-3, 4-5, 6-7, 8-9 each reduce a half of the vector for the two of them,
//   and the odd ones give theirs to the even ones; 0 2 4 6 8 10 11 12 go on as indices 0 to 7, with
//   the vector in 8 parts A to H:
//
//   index   0    1    2    3    4    5    6    7
//   after   A-D  E-H  A-D  E-H  A-D  E-H  A-D  E-H      distance 1
//           A-B  E-F  C-D  G-H  A-B  E-F  C-D  G-H      distance 2
//           A    E    C    G    B    F    D    H        distance 4, and back
//
// With p members, p' = 2^floor(lg p), r = p - p', vectors of n bytes, n a multiple of 2 p'
// elements:
//                     r = 0                       r > 0, the busiest member
//   allreduce rounds  2 lg p                      2 lg p' + 3
//     messages        2 lg p                      2 lg p' + 2
//     bytes           2 (1 - 1/p) n               n/2 + 2 (1 - 1/p') n + n
//     reduced         (1 - 1/p) n                 n/2 + (1 - 1/p') n
//   reduce rounds     at most 2 lg p              at most 2 lg p' + 2
//     reduced         as allreduce
//     messages        lg p scattering, p - 1 in all gathering; and 3 r
//   scratch           a member without target n; what arrives: n/2 + n/4, or n/4 + n/8 where r = 0
//
// Neighbouring indices are neighbouring members, so the order is kept. Where the root of a reduce
// is one that would be removed, it and its neighbour change roles.
//
// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, section 3.5,
// Fig. 2.
#include "algorithm/fold.hpp"
#include "reduce/flat/algorithms.hpp"
#include "reduce/flat/halves.hpp"

namespace weft::reduce {

namespace {

Halves halves_of(Accumulator& vector, const Reduction& reduction, const Fold& fold) {
  std::vector<int> members;
  for (int index = 0; index < fold.power(); ++index) {
    members.push_back(reduction.member(fold.member(index)));
  }
  return {vector, Cut(reduction.bytes, reduction.grain, fold.power()), std::move(members),
          fold.index(reduction.self)};
}

}  // namespace

void allreduce_halving_doubling(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  Accumulator vector(ledger, reduction.bytes, reduction.source, reduction.target);
  const Fold fold(reduction.size());
  const int self = reduction.self;
  fold_in_halves(vector, reduction, fold);
  if (!fold.is_kept(self)) {
    vector.receive(reduction.member(fold.partner(self)), vector.whole());
    return;
  }
  Halves halves = halves_of(vector, reduction, fold);
  halves.scatter();
  for (int bit = halves.bits() - 1; bit >= 0; --bit) halves.exchange(bit);
  vector.settle(vector.whole());
  if (fold.is_paired(self)) vector.send(reduction.member(fold.partner(self)), vector.whole());
}

void reduce_halving_doubling(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  Accumulator vector(ledger, reduction.bytes, reduction.source, reduction.target);
  const Fold fold(reduction.size(), reduction.root);
  fold_in_halves(vector, reduction, fold);
  if (!fold.is_kept(reduction.self)) return;
  Halves halves = halves_of(vector, reduction, fold);
  halves.scatter();
  halves.gather(fold.index(reduction.root));
  if (reduction.is_root()) vector.settle(vector.whole());
}

}  // namespace weft::reduce
