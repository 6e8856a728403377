// Shared heap: memory of this process, with an allocator, that the other ranks of its node map.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

/// A process has at most one. Blocks come from mimalloc, which is opened at run time and given one
/// range of memory: a file without a name, mapped shared. Peers map the same file
/// (engine/heap/peer_heap.hpp). The system provides pages when they are first touched.
///
/// A child of fork() has a private copy of what its parent had, and serves nothing more from it.
namespace weft::engine::heap {

/// The range of addresses; nothing before start(). Never unmapped.
struct Range {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::size_t> bytes = 0;
};
extern constinit Range range;
extern constinit std::atomic<bool> serving;

/// WEFT_SHARED_HEAP: nullopt when off; bytes of address space, 0: as the machine allows.
/// UsageError when it is neither a flag nor a size.
std::optional<std::uint64_t> wanted();

/// Makes the heap at the first call; later calls change nothing. Returns an empty text when there
/// is a heap, else the reason why there is none, in one line. `bytes` as in wanted().
std::string start(std::uint64_t bytes);

/// True while there is a heap that gives out blocks.
inline bool is_serving() noexcept {
  return serving.load(std::memory_order_acquire);
}

/// True when a block is from this heap and not from another allocator.
inline bool contains(const void* block) noexcept {
  return reinterpret_cast<std::uintptr_t>(block) - range.begin.load(std::memory_order_relaxed) <
         range.bytes.load(std::memory_order_relaxed);
}

/// A block; `alignment` a power of two, 0: as malloc(). Null when it does not fit or nothing is
/// served: the caller asks another allocator.
void* allocate(std::size_t bytes, std::size_t alignment = 0) noexcept;
void* allocate_zeroed(std::size_t bytes) noexcept;
/// The same bytes in a block of another size. Null when it does not fit: the old block stays.
void* reallocate(void* block, std::size_t bytes) noexcept;
/// From any thread.
void deallocate(void* block) noexcept;
std::size_t usable_bytes(const void* block) noexcept;

/// True once the program has mapped memory of its own over a part of the heap: at these addresses
/// peers see other memory than this process does, and must not use the heap any more.
extern constinit std::atomic<bool> overlaid;
/// Called by the wrappers of mmap() and the like, for each mapping that the program makes.
inline void note_mapping(const void* begin, std::size_t bytes) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t heap = range.begin.load(std::memory_order_relaxed);
  const bool meets = at < heap + range.bytes.load(std::memory_order_relaxed) && heap < at + bytes;
  if (meets) overlaid.store(true, std::memory_order_relaxed);
}

/// Number of allocations that failed so far because the heap was full.
std::uint64_t refused() noexcept;

/// The heap's file, which peers open through /proc of this process; -1 when there is none.
int descriptor() noexcept;

}  // namespace weft::engine::heap
