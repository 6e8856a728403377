// Seldom asked: questions to all ranks of a communicator, each of which costs as much as a short
// call.
#pragma once

#include "mpi/world/pause.hpp"

namespace weft::mpi {

/// When to ask all ranks a question whose answer is most often no: at the first call, and after
/// each no in a row twice as many calls later, up to kMostPause; but at every call until so many in
/// a row since a yes were no, as programs make long calls and short ones in turns. A value, alike
/// on all ranks.
class SeldomAsked {
 public:
  bool is_due() noexcept { return pause_.is_over(); }
  /// Counts a call in which it is not due; false: it is, and nothing was counted.
  bool pass_if_not_due() noexcept { return pause_.is_on() && !is_due(); }
  void answered(bool yes) noexcept {
    if (yes) {
      pause_.end();
      patience_ = kPatience;
    } else if (patience_ != 0) {
      --patience_;
    } else {
      pause_.grow();
    }
  }

 private:
  static constexpr unsigned kMostPause = 127;
  static constexpr unsigned kPatience = 8;
  Pause pause_{kMostPause};
  unsigned patience_ = 0;  // how many times more a no is no reason to ask later
};

}  // namespace weft::mpi
