// Stopwatch: time by the processor's counter, cheap enough for calls of less than a microsecond;
// and the pace at which the host MPI is moved on, which is measured by it.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/ticks.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

/// Counts ticks of the processor's counter of constant rate, and learns that rate from the clock
/// over its own life.
class Stopwatch {
 public:
  static std::uint64_t ticks() noexcept { return weft::ticks(); }

  double lived_seconds() const {
    const std::chrono::duration<double> lived = std::chrono::steady_clock::now() - born_;
    return lived.count();
  }
  double seconds(std::uint64_t ticks_counted) const {
    const std::uint64_t all = ticks() - first_tick_;
    return all == 0
               ? 0
               : static_cast<double>(ticks_counted) * lived_seconds() / static_cast<double>(all);
  }

 private:
  std::chrono::steady_clock::time_point born_ = std::chrono::steady_clock::now();
  std::uint64_t first_tick_ = ticks();
};

/// Calls Bootstrap::progress() now and then, however short the waits of a rank are: a host MPI
/// moves only while it is called.
class HostProgress {
 public:
  explicit HostProgress(Bootstrap& bootstrap) : bootstrap_(bootstrap) {}

  /// After a call that ended at `now_ticks`: if it is time.
  void after_call(std::uint64_t now_ticks) { move_on(now_ticks, 0); }
  /// Where ranks share cores, while this rank waits anyway: earlier, as moving MPI on gives the
  /// core away, and after a call all others would wait for this rank's next turn. Whether it was
  /// time.
  bool while_waiting() { return move_on(Stopwatch::ticks(), kTicksPerMove / 2); }

 private:
  // A tenth of a millisecond, some tenths where the counter is slow.
  static constexpr std::uint64_t kTicksPerMove = 1 << 18;

  bool move_on(std::uint64_t now, std::uint64_t early) {
    if (now + early < next_) return false;
    next_ = now + kTicksPerMove;
    bootstrap_.progress();
    return true;
  }

  Bootstrap& bootstrap_;
  std::uint64_t next_ = 0;  // in ticks
};

}  // namespace weft::comm
