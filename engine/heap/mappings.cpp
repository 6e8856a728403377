#include "engine/heap/mappings.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>

#include "engine/heap/heap.hpp"

namespace weft::engine::heap {

namespace {

constexpr std::size_t kPageBytes = 4096;
alignas(kPageBytes) std::byte page[kPageBytes];

// Of UCX's public header ucm/api/ucm.h.
constexpr int kVmUnmapped = 1 << 17;
constexpr int kNoInstall = 1 << 24;  // tell of what UCX watches already, and watch nothing more
constexpr int kPriority = 0;
struct Unmapped {
  void* address;
  std::size_t bytes;
};
using Handler = void(int type, void* event, void* argument);
using SetHandler = int(int events, int priority, Handler* handler, void* argument);

void note_unmapped(int /*type*/, void* event, void* /*argument*/) {
  if (removes_pages) return;
  const auto* unmapped = static_cast<const Unmapped*>(event);
  note_mapping(unmapped->address, unmapped->bytes);
}

/// Once: a handler stays.
bool ask_ucx() noexcept {
  void* library = ::dlopen("libucm.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  auto* set_handler = reinterpret_cast<SetHandler*>(::dlsym(library, "ucm_set_event_handler"));
  const bool asked = set_handler != nullptr &&
                     set_handler(kVmUnmapped | kNoInstall, kPriority, note_unmapped, nullptr) == 0;
  ::dlclose(library);
  return asked;
}

bool is_noted() noexcept {
  trial.saw.store(false, std::memory_order_relaxed);
  trial.page.store(page, std::memory_order_relaxed);
  const void* mapped = ::mmap(page, kPageBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  trial.page.store(nullptr, std::memory_order_relaxed);
  return mapped == page && trial.saw.load(std::memory_order_relaxed);
}

}  // namespace

bool sees_mappings() noexcept {
  return is_noted() || (ask_ucx() && is_noted());
}

}  // namespace weft::engine::heap
