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

/// The least size of a heap that may be asked for.
inline constexpr std::uint64_t kLeastBytes = 64 << 20;
/// Blocks of this size and more go back to the system when they are freed, as those of glibc's
/// malloc do. Smaller ones stay with the allocator, for the next.
inline constexpr std::size_t kGivenBackBytes = 32 << 20;

/// The least blocks that a heap serves which nobody has asked for, and whether this is such a heap.
inline constexpr std::size_t kLongBlock = 32 << 10;
extern constinit std::atomic<bool> has_only_long_blocks;

/// Scope in which such a heap gives nothing out, for blocks that are no program's buffers.
class Pause {
 public:
  Pause() noexcept { scopes_.fetch_add(1, std::memory_order_relaxed); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause() { scopes_.fetch_sub(1, std::memory_order_relaxed); }
  static bool is_on() noexcept { return scopes_.load(std::memory_order_relaxed) != 0; }

 private:
  static inline constinit std::atomic<int> scopes_ = 0;
};

/// WEFT_SHARED_HEAP: nullopt when off, or when nobody has asked; bytes of address space, 0: as the
/// machine allows. UsageError when it is neither a flag nor a size nor "auto".
std::optional<std::uint64_t> wanted();
/// True when WEFT_SHARED_HEAP leaves it to weft whether there is a heap ("auto", or not set).
bool is_left_to_weft();

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

/// Why peers must not look into this heap any more; null while they may.
extern constinit std::atomic<const char*> hidden_because;
inline bool is_hidden() noexcept {
  return hidden_because.load(std::memory_order_relaxed) != nullptr;
}
/// From now on; `reason`: one line of static memory.
void hide(const char* reason) noexcept;

/// A mapping by which sees_mappings() tries whether mappings are noted (engine/heap/mappings.hpp).
struct MappingTrial {
  std::atomic<const void*> page = nullptr;  // null: no trial is on
  std::atomic<bool> saw = false;
};
extern constinit MappingTrial trial;

/// Gives the pages of a part of the heap back to the system: they are zero when they are touched
/// next. False with errno when the system refuses.
bool remove_pages(void* begin, std::size_t bytes) noexcept;
/// While this thread does so: no mapping, though UCX tells of memory that goes away.
extern thread_local constinit bool removes_pages [[gnu::tls_model("initial-exec")]];

/// Called by the wrappers of mmap() and the like, for each mapping that the program makes. Of one
/// over a part of the heap peers would see other memory than this process does.
inline void note_mapping(const void* begin, std::size_t bytes) noexcept {
  if (begin != nullptr && begin == trial.page.load(std::memory_order_relaxed)) {
    trial.saw.store(true, std::memory_order_relaxed);
  }
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t heap = range.begin.load(std::memory_order_relaxed);
  const bool meets = at < heap + range.bytes.load(std::memory_order_relaxed) && heap < at + bytes;
  if (meets) hide("the program has mapped memory over its shared heap: peers take the next view");
}

/// Bytes that this process has copied or reduced from and to peers' heaps so far, or somewhat less:
/// of two threads at once one may go uncounted.
extern constinit std::atomic<std::uint64_t> copied;
inline void count_copied(std::uint64_t bytes) noexcept {
  copied.store(copied.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}
inline std::uint64_t copied_bytes() noexcept {
  return copied.load(std::memory_order_relaxed);
}

/// Number of allocations that failed so far because the heap was full.
std::uint64_t refused() noexcept;

/// The heap's file, which peers open through /proc of this process; -1 when there is none.
int descriptor() noexcept;

}  // namespace weft::engine::heap
