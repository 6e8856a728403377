// Copies between strided pieces of memory, through the caches or past them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/channel/message_layout.hpp"

namespace weft::engine {

/// dst = src, byte by byte in the order of the layouts. Equal sizes, no overlap. `past_caches`: the
/// result is too large to be found in a cache afterwards, and large blocks go by stream().
void copy(const verbs::Layout& dst, const verbs::Layout& src, bool past_caches = false) noexcept;

/// As memcpy, with stores that do not bring the destination's lines into the caches: for results
/// that would not stay there anyway. Visible to others after the next release store, like any
/// store.
void stream(std::byte* dst, const std::byte* src, std::size_t bytes) noexcept;

/// Size of the largest cache of a core, which the core may share with others: from sysfs, else from
/// the C library, else a guess. Reads files when it is first asked, which takes as long as many
/// short calls.
std::uint64_t last_level_cache_bytes() noexcept;
/// It is no smaller than this.
inline constexpr std::uint64_t kLeastLastLevelCache = 256 << 10;

/// True when what so many ranks read and write in one call, `bytes` each, does not fit into that
/// cache. Then results go past the caches: they would only drive out what is still to be read.
inline bool exceeds_caches(std::uint64_t bytes, std::uint64_t ranks) noexcept {
  return bytes > kLeastLastLevelCache / ranks && bytes > last_level_cache_bytes() / ranks;
}

}  // namespace weft::engine
