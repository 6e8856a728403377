// Steps in which every member has one partner, by arithmetic without carry.
#pragma once

#include <vector>

namespace weft::alltoall {

/// Numbers from 0 to steps() - 1 as digits of mixed radix, added and subtracted digit by digit
/// without carry. For every step s, i -> i + s is a permutation, and so is i -> s - i, whose pairs
/// are partners both ways. Both keep the numbers that agree in their upper digits together: a whole
/// switch talks to one other switch.
class Digits {
 public:
  /// One digit: add() goes around a ring of `members`.
  static Digits ring(int members) { return Digits({members}); }
  /// As many digits of radix `arity` as `members` need; the highest only as large as it must be.
  /// With 2 and a power of two of members, add() is the exclusive or.
  static Digits tree(int members, int arity) {
    std::vector<int> radices;
    int rest = members;
    for (; rest > arity; rest = (rest + arity - 1) / arity) radices.push_back(arity);
    radices.push_back(rest);
    return Digits(std::move(radices));
  }

  /// The numbers there are: the members, or more where they do not fill the highest digit.
  int steps() const {
    int product = 1;
    for (const int radix : radices_) product *= radix;
    return product;
  }
  int add(int a, int b) const {
    return combine(a, b, [](int x, int y, int radix) { return (x + y) % radix; });
  }
  int subtract(int a, int b) const {
    return combine(a, b, [](int x, int y, int radix) { return (x - y + radix) % radix; });
  }
  const std::vector<int>& radices() const { return radices_; }

 private:
  explicit Digits(std::vector<int> radices) : radices_(std::move(radices)) {}

  template <class Digit>
  int combine(int a, int b, Digit digit) const {
    int result = 0;
    int weight = 1;
    for (const int radix : radices_) {
      result += weight * digit(a % radix, b % radix, radix);
      a /= radix;
      b /= radix;
      weight *= radix;
    }
    return result;
  }

  std::vector<int> radices_;  // the lowest first
};

}  // namespace weft::alltoall
