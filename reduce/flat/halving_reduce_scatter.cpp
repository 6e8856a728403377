// Recursive halving: a reduce-scatter in which the members split in halves, each sends the other
// half's blocks to one there, and each half goes on by itself.
//
//   0 <-> 4   1 <-> 5   2 <-> 6   3 <-> 7      blocks 4-7 one way, 0-3 the other
//   0 <-> 2   1 <-> 3   4 <-> 6   5 <-> 7
//   0 <-> 1   2 <-> 3   4 <-> 5   6 <-> 7
//
// Where p is no power of two, r = p - 2^floor(lg p) members first give their vectors to neighbours,
// who get both blocks and send one back in the end.
//
// With p members, vectors of n bytes and blocks of n/p:
//              p = 2^k            else, with p' = 2^floor(lg p)
//   rounds     lg p               lg p' + 2, or one less
//   messages   lg p               lg p', with a removed neighbour one more; a removed one 1
//   bytes      (1 - 1/p) n        at most (1 - 2/p) n, with a removed neighbour n/p more; a removed
//                                 one n
//   reduced    (1 - 1/p) n        with a removed neighbour n more at most
//   copied     n/p
//   scratch    n, and what arrives: n/4 + n/8 or n/2 + n/4
//
// Members that are far apart are combined first: the operation must commute.
//
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", IJHPCA 19(1), 2005, section 4.4, T_rec_half.
#include "reduce/flat/algorithms.hpp"
#include "reduce/flat/folded_scatter.hpp"

namespace weft::reduce {

void reduce_scatter_recursive_halving(Ledger& ledger, const Reduction& reduction,
                                      const Parameters&) {
  folded_scatter(ledger, reduction, [&](Accumulator& vector, const Fold& fold, int index) {
    for (int distance = fold.power() / 2; distance > 0; distance /= 2) {
      const int own = index / distance * distance;  // the first index of this half
      const int other = own ^ distance;
      const int peer = reduction.member(fold.member(index ^ distance));
      vector.send(peer, blocks_between(reduction, fold, other, other + distance));
      vector.combine(peer, blocks_between(reduction, fold, own, own + distance),
                     side_of(other, own));
    }
  });
}

}  // namespace weft::reduce
