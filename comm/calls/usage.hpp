// Usage: calls, bytes and times of a communicator, by collective, algorithm and size of blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/setup/stopwatch.hpp"
#include "plan/problem.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

/// Of one entry of the statistics. In one cache line, as every call counts.
struct alignas(64) Counts {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
  std::uint64_t wire_bytes = 0;
  std::uint64_t ticks = 0;
  std::uint64_t waiting_ticks = 0;
};

class Usage {
 public:
  /// The number of an entry, for as long as this lives: of calls whose blocks (or vectors) are of
  /// this size, or between the same powers of two.
  std::size_t entry_for(plan::Collective collective, const std::string& algorithm,
                        std::uint64_t block_bytes);
  /// Valid until the next entry is added.
  Counts& at(std::size_t entry) noexcept { return counts_[entry]; }

  /// A call begins, at the ticks that it returns.
  std::uint64_t begin() noexcept { return began_ = Stopwatch::ticks(); }
  /// The same of a short call, which is over and began at those ticks.
  void begin_at(std::uint64_t ticks) noexcept { began_ = ticks; }
  /// Of calls that take no longer than to read the counter twice, one in a few is timed, which
  /// stands for those between.
  static bool is_timed(const Counts& counts) noexcept { return counts.calls % kTimedEvery == 0; }
  /// What came after begin() was its set-up; the call begins now.
  std::uint64_t end_set_up() noexcept;
  /// The call, which is counted already, ends at the ticks that it returns. `waited(ticks)`: how
  /// long it waited for ranks that came late. That is asked after long calls, and after some of the
  /// others, which stand for those between: it takes longer than to count. `is_each_timed`: calls
  /// like this one are, not only where is_timed().
  template <class Waited>
  std::uint64_t end(Counts& counts, bool is_each_timed, Waited waited) noexcept {
    const std::uint64_t now = Stopwatch::ticks();
    const std::uint64_t took = now - began_;
    counts.ticks += took * (is_each_timed ? 1 : kTimedEvery);
    const bool is_long = took >= kLong;
    if (is_long || counts.calls % kEvery == kEvery / 2) [[unlikely]]
      counts.waiting_ticks += waited(took) * (is_long ? 1 : kEvery);
    return now;
  }
  /// The same of a part of a call that is started and ends later.
  void end_part(Counts& counts) const noexcept { counts.ticks += Stopwatch::ticks() - began_; }

  std::vector<Statistics::Entry> entries() const;
  /// What this rank had for each of so many ranks, in collectives where that is the same for all.
  std::uint64_t sent_to_each(std::size_t ranks) const;
  double setup_seconds() const { return stopwatch_.seconds(setup_ticks_); }

 private:
  // A tenth of a millisecond, some tenths where the counter is slow.
  static constexpr std::uint64_t kLong = 1 << 18;
  static constexpr std::uint64_t kEvery = 64;
  static constexpr std::uint64_t kTimedEvery = 8;  // kEvery / 2 is a multiple

  struct Name {
    plan::Collective collective;
    std::string algorithm;
    std::uint64_t block_bytes_at_most;
  };
  std::vector<Counts> counts_;
  std::vector<Name> names_;  // likewise
  std::uint64_t began_ = 0;
  std::uint64_t setup_ticks_ = 0;
  Stopwatch stopwatch_;
};

}  // namespace weft::comm
