// Pause: how many calls pass before something that costs much is tried again.
#pragma once

#include <algorithm>

namespace weft::mpi {

/// None at first, and about twice as long each time it grows. A value: alike on all ranks where
/// they count the same calls.
class Pause {
 public:
  /// `most`: it does not grow beyond so many calls.
  explicit constexpr Pause(unsigned most) noexcept : most_(most) {}

  bool is_on() const noexcept { return left_ != 0; }
  /// Counts a call. Whether it comes after the pause.
  bool is_over() noexcept {
    if (left_ == 0) return true;
    --left_;
    return false;
  }
  /// Begins anew, longer than the last one.
  void grow() noexcept { left_ = length_ = std::min(2 * length_ + 1, most_); }
  /// There is none any more.
  void end() noexcept { left_ = length_ = 0; }

 private:
  unsigned most_;
  unsigned length_ = 0;
  unsigned left_ = 0;
};

}  // namespace weft::mpi
