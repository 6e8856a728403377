#include "engine/heap/mimalloc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <mimalloc.h>

namespace weft::engine::heap {

namespace {

constexpr const char* kLibrary = "libmimalloc.so.2";
constexpr int kOldest = 209;  // memory that is not from the system came with 2.0.9

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string open_allocator(Allocator& allocator, void* memory, std::size_t bytes) {
  if (::dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD) != nullptr) {
    return fmt::format("the program uses {} itself", kLibrary);
  }
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return fmt::format("{}", ::dlerror());
  decltype(&mi_version) version = nullptr;
  decltype(&mi_option_set) set_option = nullptr;
  decltype(&mi_manage_os_memory) manage = nullptr;
  const bool complete = find(library, "mi_version", version) &&
                        find(library, "mi_option_set", set_option) &&
                        find(library, "mi_manage_os_memory", manage) &&
                        find(library, "mi_malloc", allocator.allocate) &&
                        find(library, "mi_zalloc", allocator.allocate_zeroed) &&
                        // mi_malloc_aligned takes blocks of 256 to 1024 for aligned as they are.
                        find(library, "mi_malloc_aligned_at", allocator.allocate_aligned) &&
                        find(library, "mi_realloc", allocator.reallocate) &&
                        find(library, "mi_free", allocator.deallocate) &&
                        find(library, "mi_usable_size", allocator.usable_bytes);
  if (!complete || version() < kOldest) {
    return fmt::format("{} is too old: 2.0.9 or later is needed", kLibrary);
  }
  // Nothing from the system, that peers would not see; and all of the range is there, so that no
  // call is spent on committing it or giving it back (which would not, as it is shared).
  set_option(mi_option_limit_os_alloc, 1);
  const bool committed = true, large = false, zero = true;
  if (!manage(memory, bytes, committed, large, zero, -1)) {
    return fmt::format("{} refused {} bytes of memory", kLibrary, bytes);
  }
  return {};
}

}  // namespace weft::engine::heap
