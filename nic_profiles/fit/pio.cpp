#include "nic_profiles/fit/pio.hpp"

#include <algorithm>

namespace weft::nic_profiles {

namespace {

// Storing that adds less than this part to a send cannot be told from noise, nor matters.
constexpr double kLeastExcess = 0.05;

// No core stores faster: a large message that takes hardly longer than others was not stored.
constexpr double kFastest_bytes_per_ns = 100;

constexpr std::uint64_t kInCache_bytes = 32 << 10;

// From here on storing takes longer than all else that a send does.
constexpr std::uint64_t kLarge_bytes = 4 << 10;

/// Kendall's tau of times by size, not below 0. `times` ascend by size.
double order_of(std::span<const Timing> times) {
  int pairs = 0, in_order = 0;
  for (std::size_t large = 0; large < times.size(); ++large) {
    for (std::size_t small = 0; small < large; ++small) {
      if (times[small].bytes < kLarge_bytes) continue;
      ++pairs;
      in_order += times[small].ns <= times[large].ns ? 1 : 0;
    }
  }
  return pairs == 0 ? 1 : std::max(0.0, 2.0 * in_order / pairs - 1);
}

}  // namespace

std::optional<Pio> find_pio(std::span<const Timing> send_busy) {
  if (send_busy.size() < 3) return std::nullopt;
  std::vector<Timing> times(send_busy.begin(), send_busy.end());
  std::ranges::sort(times, {}, &Timing::bytes);
  const Timing& small = times.front();
  const Timing& large = times.back();
  // The time grows with the size up to the last that is stored, and falls back to the post.
  const double middle_ns = times[times.size() / 2].ns;
  Pio pio;
  pio.order = order_of(times);
  pio.all = large.ns > 2 * middle_ns && large.ns > 2 * small.ns;
  auto last = times.rbegin();
  if (!pio.all) {
    pio.fetched_ns = large.ns;
    last = std::find_if(last, times.rend(), [&](const Timing& time) {
      const double least_ns = static_cast<double>(time.bytes) / kFastest_bytes_per_ns;
      return time.ns > std::max((1 + kLeastExcess) * large.ns, large.ns + least_ns);
    });
  }
  if (last == times.rend()) return pio;
  pio.bytes = last->bytes;
  // Of what is in the core's cache; the rest comes at the rate of memory.
  while (last->bytes > kInCache_bytes && std::next(last)->bytes > small.bytes) ++last;
  if (last->ns > small.ns) {
    pio.bytes_per_ns = static_cast<double>(last->bytes - small.bytes) / (last->ns - small.ns);
    pio.stored_ns = std::max(0.0, small.ns - static_cast<double>(small.bytes) / pio.bytes_per_ns);
  }
  pio.slope_ratio = 1 - small.ns / large.ns;
  return pio;
}

}  // namespace weft::nic_profiles
