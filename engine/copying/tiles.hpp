// Tiles: transposing copies of short runs of bytes, a few lines of memory at a time on both sides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/copying/grid.hpp"

namespace weft::engine {

/// Copies writes.count * reads.count runs. Along `writes` they lie nearest to one another on the
/// side that is written, along `reads` on the one that is read. Each line is read once and written
/// once where runs of 4, 8 or 16 bytes lie side by side on both sides. `past_caches`: whole lines
/// are written past the caches.
void copy_tiles(std::byte* to, const std::byte* from, std::uint64_t run_bytes, const Axis& writes,
                const Axis& reads, bool past_caches) noexcept;

}  // namespace weft::engine
