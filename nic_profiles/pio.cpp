#include "nic_profiles/pio.hpp"

#include <algorithm>

namespace weft::nic_profiles {

namespace {

// Storing that adds less than this part to a send cannot be told from noise, nor matters.
constexpr double kLeastExcess = 0.05;

constexpr std::uint64_t kInCache_bytes = 32 << 10;

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
  pio.all = large.ns > 2 * middle_ns && large.ns > 2 * small.ns;
  auto last = times.rbegin();
  if (!pio.all) {
    pio.fetched_ns = large.ns;
    last = std::find_if(last, times.rend(), [&](const Timing& time) {
      return time.ns > (1 + kLeastExcess) * large.ns;
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
