// In flight: whether a program has several short nonblocking calls of a communicator under way.
//
// weft makes the nonblocking calls of a communicator one after the other. Where ranks share cores
// each call takes as many changes between them as a call by itself, while the host moves all that
// are under way on in one: ten allreduces of 8 bytes between 8 ranks on 2 cores take three times as
// long over weft. How many are under way when a call starts differs by rank, so after some calls
// ranks tell each other; where any rank has several most of the time, short calls are left to the
// host from then on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::mpi {

/// Of one communicator. Each rank has its own, and all count the same calls of the program, in the
/// same order: all that are not blocking, each with the calls that are under way there.
class InFlight {
 public:
  /// Calls of more bytes of a block gain more by weft than they lose.
  static constexpr std::uint64_t kShortBytes = 1024;

  /// Counts a call that starts when `others` of its communicator are under way.
  void count(std::size_t others) noexcept {
    ++calls_;
    if (others >= kSeveral) ++behind_several_;
  }
  /// Whether ranks are to tell each other behind_several(), for learn().
  bool is_due() const noexcept { return !is_left_ && !is_put_off_ && calls_ >= next_at_; }
  /// They do it later, and are asked no more.
  void put_off() noexcept { is_put_off_ = true; }
  bool is_put_off() const noexcept { return is_put_off_; }
  /// Calls that found kSeveral others or more.
  std::uint64_t behind_several() const noexcept { return behind_several_; }
  /// `most`: of all ranks.
  void learn(std::uint64_t most) noexcept {
    is_left_ = kPart * most >= calls_;
    next_at_ = kAgainAfterTimes * calls_;
    calls_ = behind_several_ = 0;
    is_put_off_ = false;
  }
  /// Whether short calls are left to the host.
  bool is_left() const noexcept { return is_left_; }

 private:
  // Calls that come in twos take as long over weft as by the host, between 4 ranks on 2 cores.
  static constexpr std::size_t kSeveral = 2;
  static constexpr std::uint64_t kPart = 3;  // of the calls so far
  static constexpr std::uint64_t kFirst = 32;
  static constexpr std::uint64_t kAgainAfterTimes = 8;

  std::uint64_t calls_ = 0;  // since ranks told each other
  std::uint64_t behind_several_ = 0;
  std::uint64_t next_at_ = kFirst;
  bool is_put_off_ = false;
  bool is_left_ = false;
};

}  // namespace weft::mpi
