// Memory of the shared heap, for callers.
#include <cstdlib>
#include <new>

#include "engine/heap/heap.hpp"
#include "weft/weft.hpp"

namespace weft {

namespace heap = engine::heap;

void* allocate(std::size_t bytes) {
  heap::start(0);
  void* block = heap::allocate(bytes, 64);
  if (block == nullptr && bytes <= PTRDIFF_MAX) {
    block = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void deallocate(void* block) noexcept {
  if (heap::contains(block)) {
    heap::deallocate(block);
  } else {
    std::free(block);
  }
}

}  // namespace weft
