// Bine trees and butterflies: binomial trees and recursive doubling whose partners are nearer.
//
// A binomial tree over 2^k members joins two trees of 2^(k-1) whose heads are 2^(k-1) apart. A Bine
// tree joins one and its mirror image, so that the heads stand on both sides of the seam: they are
// |1 - (-2)^k| / 3 apart, two thirds of that.
//
//   binomial, 8    0 -------> 4             Bine, 8    . . 2 ---> 5 . .
//                  0 --> 2    4 --> 6                  . 1 < 2    5 > 6 .
//                  0 > 1 2 > 3 4 > 5 6 > 7             0 < 1 2 > 3 4 < 5 6 > 7
//
// Which member is the head follows from the size, so a tree with another root is shifted around
// the group. The butterfly has those distances the other way round: 1, 1, 3, 5, 11, ...
//
// Source: De Sensi, Pasqualoni, Piarulli, Bonato, Ba, Turisini, Domke, Hoefler, "Bine Trees:
// Enhancing Collective Operations by Optimizing Communication Locality", SC 2025,
// arXiv:2508.17311. The halves of any size, and the closed form of labels, are ours.
#pragma once

#include <vector>

namespace weft::algorithm {

/// The place of one member of a Bine tree over members 0 to p - 1 in a row, for any p: whoever has
/// a run of members cuts it in the middle, and the half that it does not stand in has a head a
/// third from the seam. For powers of two that is the tree of the paper, or its mirror image.
struct BinePlace {
  int parent = -1;            // the head has none
  std::vector<int> children;  // in the order in which they are served, the farthest first
};

/// The head of the tree over `members` members.
constexpr int bine_head(int members) {
  return members / 3;
}
BinePlace bine_place(int members, int member);

/// The butterfly over 2^k members. Step i joins members |1 - (-2)^(i + 1)| / 3 apart: of an even
/// member the one before or behind it by that much, around the group, as the sign says; of an odd
/// one the other way.
///
/// A member's *label* has a bit for each step: partners of step i have labels that differ in bit i
/// and not below it. So those of the first i bits in common are a group that steps i and later keep
/// among themselves.
class BineButterfly {
 public:
  /// `members`: a power of two.
  explicit BineButterfly(int members);

  int members() const { return members_; }
  int steps() const { return steps_; }
  int partner(int member, int step) const;
  int label(int member) const;
  int member_of(int label) const;

 private:
  /// Of step `step`, with its sign.
  static int distance(int step);
  int around(int member) const { return member & (members_ - 1); }

  int members_;
  int steps_;
};

}  // namespace weft::algorithm
