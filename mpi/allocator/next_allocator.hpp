// Next allocator: functions of the allocator that the program would use without the add-on.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>

namespace weft::mpi {

/// A function of a library loaded after this one: glibc's, or of an allocator that the program is
/// linked with. Looked up at its first call, which comes before any constructor has run. Safe from
/// many threads.
template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}

  /// Null while this thread looks it up: dlsym() may allocate memory.
  Function* find() noexcept {
    Function* found = known();
    return found != nullptr ? found : look_up();
  }
  /// Null before it has been looked up.
  Function* known() const noexcept { return known_.load(std::memory_order_relaxed); }

 private:
  [[gnu::noinline]] Function* look_up() noexcept {
    static thread_local bool busy [[gnu::tls_model("initial-exec")]] = false;
    if (busy) return nullptr;
    busy = true;
    auto* found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
    busy = false;
    known_.store(found, std::memory_order_relaxed);
    return found;
  }

  const char* name_;
  std::atomic<Function*> known_ = nullptr;
};

}  // namespace weft::mpi
