// Hooks of setrlimit, getrlimit, prlimit and mlockall. The shared heaps of a node take up far more
// addresses than memory. A program that bounds or locks its address space after its start means its
// own: its bound is passed on with the heaps' addresses added, and their pages are locked only as
// they are touched. From then on its blocks come from its own allocator, where both hold.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "engine/heap/heap.hpp"
#include "mpi/allocator/heap_policy.hpp"

#define WEFT_ENTRY extern "C" __attribute__((visibility("default")))

namespace heap = weft::engine::heap;
using weft::mpi::heap_policy;

namespace {

static_assert(sizeof(rlimit) == sizeof(rlimit64));

int call_system(pid_t process, int resource, const rlimit* limit, rlimit* old) noexcept {
  return static_cast<int>(::syscall(SYS_prlimit64, process, resource, limit, old));
}

/// The bound of addresses, as the program knows it and as the system does.
struct Bound {
  std::mutex mutex;
  rlimit asked = {};
  rlimit given = {};

  rlimit shown(const rlimit& system) const noexcept {
    const bool is_ours = system.rlim_cur == given.rlim_cur && system.rlim_max == given.rlim_max;
    return is_ours ? asked : system;
  }
};
constinit Bound bound;

rlim_t raised(rlim_t asked) noexcept {
  const rlim_t more = heap::mapped_bytes.load(std::memory_order_relaxed);
  return asked >= RLIM_INFINITY - more ? RLIM_INFINITY : asked + more;
}

int set_bound(const rlimit& asked, const rlimit& system) noexcept {
  if (asked.rlim_cur > asked.rlim_max) {
    errno = EINVAL;
    return -1;
  }
  if (asked.rlim_cur != RLIM_INFINITY) heap_policy.close();
  rlimit given = {raised(asked.rlim_cur), raised(asked.rlim_max)};
  // Beyond that only who may do anything can go.
  const bool is_lower = asked.rlim_max <= bound.shown(system).rlim_max;
  if (is_lower) given.rlim_max = std::min(given.rlim_max, system.rlim_max);
  given.rlim_cur = std::min(given.rlim_cur, given.rlim_max);
  if (call_system(0, RLIMIT_AS, &given, nullptr) != 0) return -1;
  bound.asked = asked;
  bound.given = given;
  return 0;
}

int change(pid_t process, int resource, const rlimit* limit, rlimit* old) noexcept {
  const bool is_own = process == 0 || process == ::getpid();
  if (resource != RLIMIT_AS || !is_own || heap::mapped_bytes.load() == 0) {
    return call_system(process, resource, limit, old);
  }
  const std::lock_guard lock(bound.mutex);
  rlimit system = {};
  if (call_system(0, resource, nullptr, &system) != 0) return -1;
  const rlimit had = bound.shown(system);
  if (limit != nullptr && set_bound(*limit, system) != 0) return -1;
  if (old != nullptr) *old = had;
  return 0;
}

/// Of this process, but for what is weft's.
std::vector<std::pair<std::uintptr_t, std::uintptr_t>> mappings_of_program() {
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:weft-") != std::string::npos) continue;
    char* dash = nullptr;
    const std::uintptr_t begin = std::strtoull(line.c_str(), &dash, 16);
    found.emplace_back(begin, std::strtoull(dash + 1, nullptr, 16));
  }
  return found;
}

/// As the system's, which locks what cannot be had without a word, too.
int lock_all(int flags) {
  const auto lock = [](int what) { return static_cast<int>(::syscall(SYS_mlockall, what)); };
  if (heap::mapped_bytes.load() == 0 || (flags & MCL_ONFAULT) != 0) return lock(flags);
  heap_policy.close();
  if ((flags & MCL_CURRENT) == 0) return lock(flags);
  if (lock(flags | MCL_ONFAULT) != 0) return -1;
  for (const auto& [begin, end] : mappings_of_program()) {
    ::syscall(SYS_mlock, begin, end - begin);
  }
  return (flags & MCL_FUTURE) == 0 ? 0 : lock(MCL_FUTURE);
}

}  // namespace

WEFT_ENTRY int setrlimit(__rlimit_resource_t resource, const rlimit* limit) noexcept {
  return change(0, resource, limit, nullptr);
}
WEFT_ENTRY int setrlimit64(__rlimit_resource_t resource, const rlimit64* limit) noexcept {
  return change(0, resource, reinterpret_cast<const rlimit*>(limit), nullptr);
}
WEFT_ENTRY int getrlimit(__rlimit_resource_t resource, rlimit* limit) noexcept {
  return change(0, resource, nullptr, limit);
}
WEFT_ENTRY int getrlimit64(__rlimit_resource_t resource, rlimit64* limit) noexcept {
  return change(0, resource, nullptr, reinterpret_cast<rlimit*>(limit));
}
WEFT_ENTRY int prlimit(pid_t process, __rlimit_resource resource, const rlimit* limit,
                       rlimit* old) noexcept {
  return change(process, resource, limit, old);
}
WEFT_ENTRY int prlimit64(pid_t process, __rlimit_resource resource, const rlimit64* limit,
                         rlimit64* old) noexcept {
  return change(process, resource, reinterpret_cast<const rlimit*>(limit),
                reinterpret_cast<rlimit*>(old));
}

WEFT_ENTRY int mlockall(int flags) noexcept {
  try {
    return lock_all(flags);
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return -1;
  }
}
