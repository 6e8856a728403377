// Scan by doubling: in round k each member sends the sum over the last 2^k members up to itself to
// the member 2^k ahead, and puts what comes from 2^k behind before its own.
//
//   0 -> 1 -> 2 -> 3 -> 4      round 0: sums of 2
//   0 -> 2 -> 4, 1 -> 3        round 1: sums of 4
//   0 -> 4                     round 2: sums of up to 8
//
// exscan: vectors first move on by one member, then the same among all but member 0.
//
// With p members and vectors of n bytes:
//              scan                     exscan
//   rounds     ceil(lg p)               1 + ceil(lg (p - 1)); one less but for powers of two
//   messages   a member i: the powers of two up to p - 1 - i; exscan one more to i + 1
//   bytes      n each message
//   reduced    n for each power of two up to i (exscan: up to i - 1)
//   scratch    2 n, what arrives
//
// Source: Hillis, Steele, "Data parallel algorithms", CACM 29(12), 1986.
#include "reduce/flat/accumulator.hpp"
#include "reduce/flat/algorithms.hpp"

namespace weft::reduce {

namespace {

/// Sums over `first` to self, for members from `first` on.
void sum_up(Accumulator& vector, const Reduction& reduction, int first) {
  const int self = reduction.self;
  if (self < first) return;
  for (int distance = 1; first + distance < reduction.size(); distance *= 2) {
    if (self + distance < reduction.size()) {
      vector.send(reduction.member(self + distance), vector.whole());
    }
    if (self - distance >= first) {
      vector.combine(reduction.member(self - distance), vector.whole(), Operand::left);
    }
  }
}

}  // namespace

void scan_doubling(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  Accumulator vector(ledger, reduction.bytes, reduction.source, reduction.target);
  sum_up(vector, reduction, 0);
  vector.settle(vector.whole());
}

void exscan_doubling(Ledger& ledger, const Reduction& reduction, const Parameters&) {
  const int self = reduction.self;
  Accumulator vector(ledger, reduction.bytes, {}, reduction.target);
  if (self + 1 < reduction.size()) ledger.send(reduction.member(self + 1), reduction.source);
  if (self > 0) vector.receive(reduction.member(self - 1), vector.whole());
  sum_up(vector, reduction, 1);
}

}  // namespace weft::reduce
