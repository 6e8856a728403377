// Folded scatter: shared by the reduce-scatters that work on a power of two of members.
#pragma once

#include "algorithm/fold.hpp"
#include "algorithm/reduction.hpp"
#include "reduce/flat/accumulator.hpp"

namespace weft::reduce {

/// The blocks of the members that indices `first` to `last` - 1 of the fold stand for.
inline Block blocks_between(const Reduction& reduction, const Fold& fold, int first, int last) {
  const auto begin = [&](int index) {
    const int member = index < fold.removed() ? 2 * index : index + fold.removed();
    return member < reduction.size() ? reduction.block(member).offset : reduction.bytes;
  };
  return {begin(first), begin(last) - begin(first)};
}

/// Folds the members, lets `exchange(vector, fold, index)` combine what the kept ones have so that
/// each has its own blocks, and brings every block to its member.
template <class Exchange>
void folded_scatter(Ledger& ledger, const Reduction& reduction, Exchange exchange) {
  const int self = reduction.self;
  if (reduction.size() == 1) {
    return ledger.copy(reduction.target, part_of(reduction.source, reduction.block(self)));
  }
  Accumulator vector(ledger, reduction.bytes, reduction.source, {});
  const Fold fold(reduction.size());
  const int partner = fold.is_paired(self) ? reduction.member(fold.partner(self)) : -1;
  if (!fold.is_kept(self)) {
    vector.send(partner, vector.whole());
    ledger.recv(partner, reduction.target);
    return;
  }
  if (partner >= 0) vector.combine(partner, vector.whole(), Operand::right);
  exchange(vector, fold, fold.index(self));
  if (!reduction.target.empty()) {
    ledger.copy(reduction.target, vector.settle(reduction.block(self)));
  }
  if (partner >= 0) vector.send(partner, reduction.block(fold.partner(self)));
}

}  // namespace weft::reduce
