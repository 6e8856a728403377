// mimalloc, opened at run time.
#pragma once

#include <cstddef>
#include <string>

namespace weft::engine::heap {

/// The functions of mimalloc that we use. Its library is loaded so that nothing else in the process
/// sees it: it would take the program's malloc over.
struct Allocator {
  void* (*allocate)(std::size_t bytes);
  void* (*allocate_zeroed)(std::size_t bytes);
  void* (*allocate_aligned)(std::size_t bytes, std::size_t alignment, std::size_t offset);
  void* (*reallocate)(void* block, std::size_t bytes);
  void (*deallocate)(void* block);
  std::size_t (*usable_bytes)(const void* block);
};

/// mimalloc's segments, and so what it is given, begin at multiples of this.
inline constexpr std::size_t kSegmentBytes = std::size_t{32} << 20;

/// Opens it and lets it serve from [memory, memory + bytes) alone. Empty, or why not.
std::string open_allocator(Allocator& allocator, void* memory, std::size_t bytes);

}  // namespace weft::engine::heap
