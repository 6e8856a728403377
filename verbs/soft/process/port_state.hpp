// Whether a process's ports are up and it is ready to answer, as its own QPs and its peers see it.
#pragma once

#include <limits>

#include "verbs/soft/process/clock.hpp"
#include "verbs/soft/process/segment.hpp"

namespace weft::soft {

constexpr std::uint64_t kDownForGood = std::numeric_limits<std::uint64_t>::max();

inline bool port_is_up(const Segment& segment, unsigned device) noexcept {
  const std::uint64_t until =
      segment.header().port_down_until_ns[device].load(std::memory_order_relaxed);
  return until == 0 || static_cast<std::uint64_t>(now_ns()) >= until;
}

/// Takes the process's next moment for answering a message; false when it is not yet come. Without
/// a fault asked for, always true.
inline bool take_turn(const Segment& segment) noexcept {
  SegmentHeader& header = segment.header();
  const std::uint64_t slow_ns = header.slow_ns.load(std::memory_order_relaxed);
  if (slow_ns == 0) return true;
  const auto now = static_cast<std::uint64_t>(now_ns());
  std::uint64_t busy_until = header.busy_until_ns.load();
  return now >= busy_until &&
         header.busy_until_ns.compare_exchange_strong(busy_until, now + slow_ns);
}

}  // namespace weft::soft
