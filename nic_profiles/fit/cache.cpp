#include "nic_profiles/fit/cache.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace weft::nic_profiles {

namespace {

// Caches that make less of a difference than this are not told from noise.
constexpr double kLeastGain = 1.1;

}  // namespace

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

}  // namespace weft::nic_profiles
