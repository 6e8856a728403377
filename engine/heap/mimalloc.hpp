// Binding to mimalloc, which is opened at run time.
#pragma once

#include <cstddef>
#include <string>

namespace weft::engine::heap {

/// The functions of mimalloc that the heap uses. The library is loaded with local symbols:
/// otherwise it would replace the program's malloc.
struct Allocator {
  void* (*allocate)(std::size_t bytes);
  void* (*allocate_zeroed)(std::size_t bytes);
  void* (*allocate_aligned)(std::size_t bytes, std::size_t alignment, std::size_t offset);
  void* (*reallocate)(void* block, std::size_t bytes);
  void (*deallocate)(void* block);
  std::size_t (*usable_bytes)(const void* block);
};

/// Alignment of mimalloc's segments, and so of the memory that it is given.
inline constexpr std::size_t kSegmentBytes = std::size_t{32} << 20;

/// Opens the library and lets it serve from [memory, memory + bytes) only. Empty, or the reason why
/// it cannot.
std::string open_allocator(Allocator& allocator, void* memory, std::size_t bytes);

}  // namespace weft::engine::heap
