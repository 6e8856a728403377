#include "nic_profiles/fit/curve_features.hpp"

#include <algorithm>
#include <cmath>
#include <map>

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

// Caches that make less of a difference than this are not told from noise.
constexpr double kLeastGain = 1.1;

// Large messages: of this part of the largest size and more.
constexpr std::uint64_t kLargePart = 16;

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

std::optional<CacheSize> find_cache(std::span<const CopyTiming> copies) {
  std::vector<const CopyTiming*> series;
  for (const CopyTiming& timing : copies) {
    if (timing.copy.since_bytes > 0) series.push_back(&timing);
  }
  if (series.size() < 2) return std::nullopt;
  std::ranges::sort(series, {}, [](const auto* timing) { return timing->copy.since_bytes; });
  const double near_ns = series.front()->ns;
  const double far_ns = series.back()->ns;
  if (far_ns < kLeastGain * near_ns) return std::nullopt;
  const auto slow = std::ranges::find_if(
      series, [&](const auto* timing) { return timing->ns > std::sqrt(near_ns * far_ns); });
  return CacheSize{(*std::prev(slow))->copy.since_bytes, (*slow)->copy.since_bytes};
}

std::vector<StreamTiming> best_of_large(const Measurements& measurements, bool both_ways) {
  const auto& all = measurements.bandwidths;
  const auto is_wanted = [&](const StreamTiming& timing) {
    return timing.stream.both_ways == both_ways && timing.ns > 0;
  };
  std::uint64_t largest = 0;
  for (const auto& timing : all) {
    if (is_wanted(timing)) largest = std::max(largest, timing.stream.bytes);
  }
  std::map<int, StreamTiming> best;
  for (const auto& timing : all) {
    if (!is_wanted(timing) || timing.stream.bytes < largest / kLargePart) continue;
    StreamTiming& known = best.try_emplace(timing.stream.senders, timing).first->second;
    if (timing.bytes_per_ns() > known.bytes_per_ns()) known = timing;
  }
  std::vector<StreamTiming> found;
  for (const auto& [senders, timing] : best) found.push_back(timing);
  return found;
}

}  // namespace weft::nic_profiles
