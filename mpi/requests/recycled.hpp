// Recycled memory: objects of pending calls in the memory of earlier ones.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>

#include "base/call_mutex.hpp"

namespace weft::mpi {

/// Allocates single objects from those that were freed before, a few of which are kept for each
/// type. Safe from many threads.
template <class Object>
class Recycled {
 public:
  using value_type = Object;  // NOLINT(readability-identifier-naming): as allocators have it

  Recycled() = default;
  template <class Other>
  Recycled(const Recycled<Other>& /*other*/) noexcept {}  // NOLINT(google-explicit-constructor)

  Object* allocate(std::size_t count) {
    if (count == 1) {
      Spare& spare = of_type();
      const std::lock_guard lock(spare.mutex);
      if (Link* const first = spare.first) {
        spare.first = first->next;
        --spare.count;
        return reinterpret_cast<Object*>(first);
      }
    }
    return std::allocator<Object>().allocate(count);
  }
  void deallocate(Object* memory, std::size_t count) noexcept {
    if (count == 1) {
      Spare& spare = of_type();
      const std::lock_guard lock(spare.mutex);
      if (spare.count < kMostSpare) {
        spare.first = new (memory) Link{spare.first};
        ++spare.count;
        return;
      }
    }
    std::allocator<Object>().deallocate(memory, count);
  }
  bool operator==(const Recycled& /*other*/) const noexcept { return true; }

 private:
  static constexpr std::size_t kMostSpare = 16;
  struct Link {
    Link* next;
  };
  static_assert(sizeof(Object) >= sizeof(Link));
  static_assert(alignof(Object) >= alignof(Link));
  struct Spare {
    CallMutex mutex;
    Link* first = nullptr;
    std::size_t count = 0;
  };
  static Spare& of_type() {
    static auto* one = new Spare;  // requests may be freed late
    return *one;
  }
};

}  // namespace weft::mpi
