// Copies that go past the caches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::engine {

/// As memcpy, with stores that do not bring the destination's lines into the caches: for results
/// that would not stay there anyway. Visible to others after the next release store, as any.
void stream(std::byte* dst, const std::byte* src, std::size_t bytes) noexcept;

/// Of the largest cache of a core, which it may share with others: as sysfs says, else the C
/// library, else a guess.
std::uint64_t last_level_cache_bytes() noexcept;

/// Whether what so many ranks read and write in one call, `bytes` each, does not fit into it. Then
/// results go past the caches: they would only drive out what is still to be read.
inline bool exceeds_caches(std::uint64_t bytes, std::uint64_t ranks) noexcept {
  return bytes > last_level_cache_bytes() / ranks;
}

}  // namespace weft::engine
