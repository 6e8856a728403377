// Recursive vector halving with distance doubling, and the way back; the half steps of a group that
// is no power of two.
#pragma once

#include <vector>

#include "algorithm/reduction.hpp"
#include "reduce/flat/accumulator.hpp"

namespace weft::reduce {

/// A vector that the members of a block of 2^k halve and halve again among themselves: member i
/// keeps the first half where its bit 0 is 0, else the second, of that the half that its bit 1
/// says, and so on. So after all bits each has one of 2^k parts, A to H for 8:
///
///   index   0   1   2   3   4   5   6   7
///   bit 0   A-D E-H A-D E-H A-D E-H A-D E-H
///   bit 1   A-B E-F C-D G-H A-B E-F C-D G-H
///   bit 2   A   E   C   G   B   F   D   H
class Halves {
 public:
  /// `members`, a power of two, are ranks; `self` is an index.
  Halves(Accumulator& vector, const Cut& cut, std::vector<int> members, int self);

  int size() const { return static_cast<int>(members_.size()); }
  int bits() const { return bits_; }
  int self() const { return self_; }
  int member(int index) const { return members_[static_cast<std::size_t>(index)]; }

  /// What member `index` has once the first `bits` bits have been halved.
  Block held(int index, int bits) const;

  /// Gives away one half of what it has and combines the other, bit by bit: all rounds.
  void scatter();
  /// One round of the way back: what both sides of `bit` have becomes theirs together.
  void exchange(int bit);
  /// Towards the member `root`, bit by bit from the highest: half of those that are left send what
  /// they have to the other half.
  void gather(int root);

 private:
  int other(int bit) const { return self_ ^ (1 << bit); }

  Accumulator& vector_;
  Cut cut_;  // in size() parts
  std::vector<int> members_;
  int self_;
  int bits_;
};

/// Before a power of two of the members goes on: the pairs of neighbours reduce a half of the
/// vector each, and the kept one gets both.
void fold_in_halves(Accumulator& vector, const Reduction& reduction, const Fold& fold);

}  // namespace weft::reduce
