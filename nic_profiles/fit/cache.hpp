// How much a node's caches hold, by how copies slow down.
#pragma once

#include <optional>
#include <span>

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

struct CacheSize {
  std::uint64_t bytes = 0;  ///< the most that was touched while what came before was still there
  std::uint64_t above = 0;  ///< the least with which it was not
};

/// Of one core's copies of what was written before Copy::since_bytes were touched. nullopt where
/// they do not slow down.
std::optional<CacheSize> find_cache(std::span<const CopyTiming> copies);

}  // namespace weft::nic_profiles
