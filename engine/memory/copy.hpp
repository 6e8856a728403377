// Copies between strided pieces of memory.
#pragma once

#include "verbs/channel/channel.hpp"

namespace weft::engine {

/// dst = src, byte by byte in the order of the layouts. Equal sizes, no overlap. `past_caches`: the
/// result is too large to be found in a cache afterwards.
void copy(const verbs::Layout& dst, const verbs::Layout& src, bool past_caches = false) noexcept;

}  // namespace weft::engine
