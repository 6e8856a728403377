// Clock of the device: all its times are of this clock.
#pragma once

#include <ctime>

#include <cstdint>

namespace weft::soft {

/// Monotonic nanoseconds; never 0.
inline std::int64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + 1;
}

}  // namespace weft::soft
