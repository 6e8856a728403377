// Hooks of malloc and related functions: programs call them instead of the C library's.
//
// Blocks that the heap policy lets through come from the shared heap (engine/heap/heap.hpp), so
// that the ranks of a node can access one another's buffers. For others, before the heap exists and
// when it is full, they call the next allocator. The address of a block shows which one it came
// from. C++'s new and Fortran's allocate call malloc, so they come here, too.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/heap/heap.hpp"
#include "mpi/allocator/heap_policy.hpp"
#include "mpi/allocator/next_allocator.hpp"

#define WEFT_ENTRY extern "C" __attribute__((visibility("default")))

namespace heap = weft::engine::heap;
using weft::mpi::heap_policy;
using weft::mpi::Next;

namespace {

constinit Next<void*(std::size_t) noexcept> next_malloc("malloc");
constinit Next<void*(std::size_t, std::size_t) noexcept> next_calloc("calloc");
constinit Next<void*(void*, std::size_t) noexcept> next_realloc("realloc");
constinit Next<void(void*) noexcept> next_free("free");
constinit Next<void*(std::size_t, std::size_t) noexcept> next_memalign("memalign");
constinit Next<std::size_t(void*) noexcept> next_usable_size("malloc_usable_size");

/// Memory for what dlsym() allocates while it looks for the next allocator: a few bytes, zeroed and
/// never freed.
class EarlyMemory {
 public:
  void* allocate(std::size_t bytes) noexcept {
    bytes = (bytes + 15) / 16 * 16;
    const std::size_t at = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (at + bytes > memory_.size()) {
      errno = ENOMEM;
      return nullptr;
    }
    return memory_.data() + at;
  }
  bool contains(const void* block) const noexcept {
    return reinterpret_cast<std::uintptr_t>(block) -
               reinterpret_cast<std::uintptr_t>(memory_.data()) <
           memory_.size();
  }
  /// The number of bytes from a block to the end of the memory.
  std::size_t bytes_from(const void* block) const noexcept {
    return static_cast<std::size_t>(memory_.data() + memory_.size() -
                                    static_cast<const std::byte*>(block));
  }

 private:
  alignas(16) std::array<std::byte, 8192> memory_ = {};
  std::atomic<std::size_t> used_ = 0;
};
constinit EarlyMemory early;

bool is_power_of_two(std::size_t value) noexcept {
  return value != 0 && (value & (value - 1)) == 0;
}

void* fallback_malloc(std::size_t bytes) noexcept {
  auto* next = next_malloc.find();
  return next != nullptr ? next(bytes) : early.allocate(bytes);
}

/// A block of the heap, by `allocate`; null: the next allocator is to be asked.
template <class Allocate>
void* from_heap(std::size_t bytes, Allocate allocate) noexcept {
  if (!heap_policy.takes(bytes) || !heap::is_serving()) return nullptr;
  if (!heap_policy.is_by_itself()) return allocate();
  if (heap::is_hidden()) return nullptr;
  void* block = allocate();
  heap_policy.took(block, bytes);
  return block;
}

[[gnu::noinline]] void* malloc_anywhere(std::size_t bytes) noexcept {
  if (void* block = from_heap(bytes, [&] { return heap::allocate(bytes); })) return block;
  return fallback_malloc(bytes);
}

void free_in_heap(void* block) noexcept {
  if (heap_policy.is_by_itself()) heap_policy.freed(block);
  heap::deallocate(block);
}

[[gnu::noinline]] void free_anywhere(void* block) noexcept {
  if (heap::contains(block)) {
    free_in_heap(block);
  } else if (!early.contains(block)) {
    if (auto* next = next_free.find()) next(block);
  }
}

/// A block aligned to `alignment`, or to the next power of two.
void* aligned(std::size_t alignment, std::size_t bytes) noexcept {
  if (is_power_of_two(alignment)) {
    if (void* block = from_heap(bytes, [&] { return heap::allocate(bytes, alignment); })) {
      return block;
    }
  }
  auto* next = next_memalign.find();
  return next != nullptr ? next(alignment, bytes) : nullptr;
}

/// Copies a block of `has` bytes to a new block of the next allocator.
void* copied_to_fallback(void* block, std::size_t has, std::size_t bytes) noexcept {
  void* fresh = fallback_malloc(bytes);
  if (fresh != nullptr) std::memcpy(fresh, block, std::min(has, bytes));
  return fresh;
}

/// The same bytes in a larger or smaller block of the heap; null: they are to go elsewhere.
void* resized_in_heap(void* block, std::size_t bytes) noexcept {
  const std::size_t had = heap::usable_bytes(block);
  if (bytes <= had && bytes >= had / 2) return block;
  // glibc moves a long block's pages to where there is room for more. The heap would copy it, at
  // each step of a program that lets it grow.
  if (heap_policy.is_by_itself()) return nullptr;
  return heap::reallocate(block, bytes);
}

/// Before the constructors of the program, so that their allocations come from the heap.
[[gnu::constructor(101)]] void start_heap() {
  heap_policy.start();
}

}  // namespace

// Programs allocate short blocks by the million: malloc() and free() of those are a few comparisons
// and a jump to the next allocator, without a stack frame.
WEFT_ENTRY void* malloc(std::size_t bytes) noexcept {
  auto* next = next_malloc.known();
  if (next != nullptr && heap_policy.is_short(bytes)) [[likely]]
    return next(bytes);
  return malloc_anywhere(bytes);
}

WEFT_ENTRY void free(void* block) noexcept {
  auto* next = next_free.known();
  if (next != nullptr && !heap::contains(block) && !early.contains(block)) [[likely]] {
    return next(block);
  }
  free_anywhere(block);
}

WEFT_ENTRY void* calloc(std::size_t count, std::size_t each) noexcept {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(count, each, &bytes)) {
    if (void* block = from_heap(bytes, [&] { return heap::allocate_zeroed(bytes); })) return block;
  }
  auto* next = next_calloc.find();
  return next != nullptr ? next(count, each) : early.allocate(count * each);
}

WEFT_ENTRY void* realloc(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return malloc(bytes);
  if (early.contains(block)) return copied_to_fallback(block, early.bytes_from(block), bytes);
  if (!heap::contains(block)) return next_realloc.find()(block, bytes);
  if (bytes == 0) {
    free_in_heap(block);
    return nullptr;
  }
  if (void* resized = resized_in_heap(block, bytes)) return resized;
  void* fresh = copied_to_fallback(block, heap::usable_bytes(block), bytes);
  if (fresh != nullptr) free_in_heap(block);
  return fresh;
}

WEFT_ENTRY void* reallocarray(void* block, std::size_t count, std::size_t each) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, each, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}

WEFT_ENTRY void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return aligned(alignment, bytes);
}

WEFT_ENTRY void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return aligned(alignment, bytes);
}

WEFT_ENTRY int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;
  void* fresh = aligned(alignment, bytes);
  errno = error;
  if (fresh == nullptr) return ENOMEM;
  *block = fresh;
  return 0;
}

WEFT_ENTRY void* valloc(std::size_t bytes) noexcept {
  return aligned(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), bytes);
}

WEFT_ENTRY void* pvalloc(std::size_t bytes) noexcept {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > SIZE_MAX - page) {
    errno = ENOMEM;
    return nullptr;
  }
  return aligned(page, (bytes + page - 1) / page * page);
}

WEFT_ENTRY std::size_t malloc_usable_size(void* block) noexcept {
  if (block == nullptr || early.contains(block)) return 0;
  if (heap::contains(block)) return heap::usable_bytes(block);
  return next_usable_size.find()(block);
}
