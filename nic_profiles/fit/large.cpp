#include "nic_profiles/fit/large.hpp"

#include <algorithm>
#include <map>

namespace weft::nic_profiles {

namespace {
constexpr std::uint64_t kSpread = 16;
}  // namespace

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
    if (!is_wanted(timing) || timing.stream.bytes < largest / kSpread) continue;
    StreamTiming& known = best.try_emplace(timing.stream.senders, timing).first->second;
    if (timing.bytes_per_ns() > known.bytes_per_ns()) known = timing;
  }
  std::vector<StreamTiming> found;
  for (const auto& [senders, timing] : best) found.push_back(timing);
  return found;
}

}  // namespace weft::nic_profiles
