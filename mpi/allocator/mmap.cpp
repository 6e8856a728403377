// Hooks of mmap, mremap, munmap and madvise: programs call them instead of the C library's. They
// pass the call on, and tell the shared heap of mappings over its memory (engine/heap/heap.hpp),
// and its policy of huge pages that the program wants there.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>

#include "engine/heap/heap.hpp"
#include "mpi/allocator/heap_policy.hpp"
#include "mpi/allocator/next_allocator.hpp"

#define WEFT_ENTRY extern "C" __attribute__((visibility("default")))

namespace heap = weft::engine::heap;
using weft::mpi::Next;

namespace {

constinit Next<void*(void*, std::size_t, int, int, int, off_t)> next_mmap("mmap");
constinit Next<void*(void*, std::size_t, std::size_t, int, void*)> next_mremap("mremap");
constinit Next<int(void*, std::size_t)> next_munmap("munmap");
constinit Next<int(void*, std::size_t, int)> next_madvise("madvise");

/// The mapping is noted before it is made: no collective of this thread comes in between.
void* map(void* at, std::size_t bytes, int protection, int flags, int file, off_t from) noexcept {
  if ((flags & MAP_FIXED) != 0) heap::note_mapping(at, bytes);
  auto* next = next_mmap.find();
  if (next != nullptr) return next(at, bytes, protection, flags, file, from);
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, bytes, protection, flags, file, from));
}

}  // namespace

WEFT_ENTRY void* mmap(void* at, std::size_t bytes, int protection, int flags, int file,
                      off_t from) noexcept {
  return map(at, bytes, protection, flags, file, from);
}

WEFT_ENTRY void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file,
                        off64_t from) noexcept {
  return map(at, bytes, protection, flags, file, from);
}

WEFT_ENTRY void* mremap(void* at, std::size_t bytes, std::size_t wanted, int flags, ...) noexcept {
  void* to = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list rest;
    va_start(rest, flags);
    to = va_arg(rest, void*);
    va_end(rest);
    heap::note_mapping(to, wanted);
  }
  heap::note_mapping(at, bytes);
  auto* next = next_mremap.find();
  if (next != nullptr) return next(at, bytes, wanted, flags, to);
  return reinterpret_cast<void*>(::syscall(SYS_mremap, at, bytes, wanted, flags, to));
}

WEFT_ENTRY int munmap(void* at, std::size_t bytes) noexcept {
  heap::note_mapping(at, bytes);
  auto* next = next_munmap.find();
  return next != nullptr ? next(at, bytes) : static_cast<int>(::syscall(SYS_munmap, at, bytes));
}

WEFT_ENTRY int madvise(void* at, std::size_t bytes, int advice) noexcept {
  if (heap::contains(at)) {
    if (advice == MADV_HUGEPAGE) weft::mpi::heap_policy.wants_huge_pages();
    // Of private memory these pages would be zero afterwards, or might be; shared ones have to be
    // removed, and the system refuses MADV_FREE of them.
    if ((advice == MADV_DONTNEED || advice == MADV_FREE) && heap::is_serving()) {
      return heap::remove_pages(at, bytes) ? 0 : -1;
    }
  }
  auto* next = next_madvise.find();
  return next != nullptr ? next(at, bytes, advice)
                         : static_cast<int>(::syscall(SYS_madvise, at, bytes, advice));
}
