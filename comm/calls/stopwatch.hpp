// Cheap time: what a call of less than a microsecond can afford.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace weft::comm {

/// Counts ticks of whatever the processor has that counts at a constant rate, and learns that rate
/// from the clock over its own life.
class Stopwatch {
 public:
  static std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t count;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }

  double seconds(std::uint64_t ticks_counted) const {
    const std::chrono::duration<double> lived = std::chrono::steady_clock::now() - born_;
    const std::uint64_t all = ticks() - first_tick_;
    return all == 0 ? 0
                    : static_cast<double>(ticks_counted) * lived.count() / static_cast<double>(all);
  }

 private:
  std::chrono::steady_clock::time_point born_ = std::chrono::steady_clock::now();
  std::uint64_t first_tick_ = ticks();
};

}  // namespace weft::comm
