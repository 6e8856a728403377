// Fold: a group of members made a power of two, by pairs of which one takes part for both.
#pragma once

#include <bit>

#include "plan/plan.hpp"

namespace weft::algorithm {

/// Where p is no power of two, the first 2 r members, r = p - 2^floor(lg p), stand together in
/// pairs of neighbours, of which one takes part for both. The kept ones have indices 0 to
/// 2^floor(lg p) - 1 in the order of the members, so that what is combined over neighbouring
/// indices is combined in order.
///
///   p = 7, r = 3:   members  0 1   2 3   4 5   6
///                   indices   0     1     2    3
class Fold {
 public:
  /// The even one of each pair is kept, but `kept` is where it is in a pair.
  explicit Fold(int members, int kept = 0)
      : power_(static_cast<int>(std::bit_floor(static_cast<unsigned>(members)))),
        removed_(members - power_),
        kept_(kept) {}

  int power() const { return power_; }
  int removed() const { return removed_; }
  bool is_paired(int member) const { return member < 2 * removed_; }
  int partner(int member) const { return member ^ 1; }
  int index(int member) const { return is_paired(member) ? member / 2 : member - removed_; }
  int member(int index) const {
    if (index >= removed_) return index + removed_;
    return 2 * index == (kept_ & ~1) ? kept_ : 2 * index;
  }
  bool is_kept(int member) const { return this->member(index(member)) == member; }

 private:
  int power_;
  int removed_;
  int kept_;
};

/// On which side of `self` the operand of `other` stands.
constexpr plan::Operand side_of(int other, int self) {
  return other < self ? plan::Operand::left : plan::Operand::right;
}

}  // namespace weft::algorithm
