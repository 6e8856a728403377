// Recursive doubling for reduce-scatter: neighbours first, then pairs of them, and so on, so that
// the order is kept. A member sends all but the blocks that it and those with whom it has exchanged
// so far will need.
//
//   0 <-> 1   2 <-> 3       0 sends all blocks but 0, 1 all but 1
//   0 <-> 2   1 <-> 3       0 and 1 send all blocks but 0 and 1
//
// Where p is no power of two, as in recursive halving. With p = 2^k members, vectors of n bytes and
// blocks of n/p:
//   rounds    lg p
//   messages  at most 2 lg p: what lies before and what lies behind those blocks is a message each
//   bytes     (lg p - (1 - 1/p)) n
//   reduced   (lg p - (1 - 1/p)) n
//   copied    n/p at least; blocks that come to be combined for the first time where others have
//             been before
//   scratch   n, and what arrives: at most 2 n
//
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", IJHPCA 19(1), 2005, section 4.4, T_short.
#include <array>

#include "reduce/flat/algorithms.hpp"
#include "reduce/flat/folded_scatter.hpp"

namespace weft::reduce {

void reduce_scatter_recursive_doubling(Ledger& ledger, const Reduction& reduction,
                                       const Parameters&) {
  folded_scatter(ledger, reduction, [&](Accumulator& vector, const Fold& fold, int index) {
    for (int distance = 1; distance < fold.power(); distance *= 2) {
      const int other = index ^ distance;
      const int peer = reduction.member(fold.member(other));
      const auto needless = [&](int of) {  // to the group of `of`
        const int first = of / distance * distance;
        return std::array{blocks_between(reduction, fold, 0, first),
                          blocks_between(reduction, fold, first + distance, fold.power())};
      };
      for (const Block& block : needless(index)) vector.send(peer, block);
      for (const Block& block : needless(other)) {
        vector.combine(peer, block, side_of(other, index));
      }
    }
  });
}

}  // namespace weft::reduce
