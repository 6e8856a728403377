// Copies that go past the caches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::engine {

/// As memcpy, with stores that do not bring the destination's lines into the caches: for results
/// that would not stay there anyway. Visible to others after the next release store, as any.
void stream(std::byte* dst, const std::byte* src, std::size_t bytes) noexcept;

/// Of the largest cache of a core, which it may share with others; a guess where the system does
/// not say.
std::uint64_t last_level_cache_bytes() noexcept;

}  // namespace weft::engine
