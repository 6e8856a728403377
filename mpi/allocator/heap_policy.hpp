// Heap policy: which of a program's blocks come from the shared heap (engine/heap/heap.hpp).
//
// WEFT_SHARED_HEAP=1: all. WEFT_SHARED_HEAP=0: none. By itself, where nobody has said: those that
// are large enough to be buffers of long messages, in processes that a launcher has started beside
// others on their node, as long as the program loses nothing by it:
// - blocks that would lie in huge pages elsewhere, and would not in the heap, are left to the next
//   allocator;
// - so are blocks beyond what first touches of pages may cost, which take longer in shared memory:
//   what the program has in use there is held against its processor time and the bytes that were
//   copied from peers' heaps. Of blocks so long that their pages go back to the system when they
//   are freed, all that went back counts, too;
// - so are those that the MPI makes for itself while it starts (heap::Pause);
// - and what is beyond a part of the machine's memory, as a fork copies the heap.
//
// Safe from many threads; what is decided from counts may be late by a block.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weft::mpi {

class HeapPolicy {
 public:
  /// Reads the settings and the machine, and starts the heap if it is wanted. Once, before the
  /// program's constructors.
  void start() noexcept;

  /// Whether the heap may serve a block.
  bool takes(std::size_t bytes) noexcept {
    return !is_short(bytes) && bytes < most_.load(std::memory_order_relaxed) &&
           (!by_itself_ || is_worth(bytes));
  }
  /// Whether a block is too short for the heap: all that there is to ask for most blocks.
  bool is_short(std::size_t bytes) const noexcept {
    return bytes < least_.load(std::memory_order_relaxed);
  }
  /// Whether the heap serves, though nobody has asked for it.
  bool is_by_itself() const noexcept { return by_itself_; }

  // To be told of what is served by itself.
  /// A block of `bytes` that the heap gave out; null: it had no room.
  void took(const void* block, std::size_t bytes) noexcept;
  /// A block that is about to be freed.
  void freed(const void* block) noexcept;
  /// The program has asked for huge pages in a block of the heap.
  void wants_huge_pages() noexcept;

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  void start_by_itself();
  /// Whether a block is worth its first touches. What this rank has read of its peers' heaps stands
  /// for what they have read of its own.
  bool is_worth(std::size_t bytes) noexcept;
  /// No block of so many bytes or more from now on.
  void take_less_than(std::size_t bytes) noexcept;

  std::atomic<std::size_t> least_ = kNone;
  std::atomic<std::size_t> most_ = kNone;
  std::atomic<std::size_t> in_use_ = 0;         // bytes of blocks served by itself
  std::atomic<std::size_t> touched_again_ = 0;  // bytes whose pages freeing has given back
  std::atomic<std::size_t> worth_ = 0;          // bytes that may be in use; nothing: not known yet
  std::atomic<std::int64_t> next_look_ns_ = 0;  // when that is to be known anew
  std::size_t budget_ = kNone;
  std::size_t allowance_ = 0;  // bytes that are worth it from the start
  bool by_itself_ = false;
  bool has_huge_pages_ = false;  // the heap has, where they are asked for
};

/// Of this process.
extern constinit HeapPolicy heap_policy;

}  // namespace weft::mpi
