// Copies between strided pieces of memory.
#pragma once

#include "verbs/channel.hpp"

namespace weft::engine {

/// dst = src, byte by byte in the order of the layouts. Equal sizes, no overlap.
void copy(const verbs::Layout& dst, const verbs::Layout& src) noexcept;

}  // namespace weft::engine
