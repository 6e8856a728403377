#include "engine/heap/heap_fork.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "engine/heap/heap.hpp"

namespace weft::engine::heap {

namespace {

// Used by the handlers, set once. Handlers must not allocate, as other threads may hold locks.
std::byte* forked_memory = nullptr;
std::size_t forked_bytes = 0;
int forked_file = -1;
struct stat forked_identity = {};

// The copy that a child will take: of the heap up to its last page in use. Forks of several threads
// take turns.
pthread_mutex_t fork_turn = PTHREAD_MUTEX_INITIALIZER;
std::byte* copy = nullptr;
std::size_t copy_bytes = 0;
bool is_whole = false;
bool is_child = false;

// System calls without libc's wrappers: libraries that watch mappings (UCX) replace those by their
// own, which may take locks, and one of which loses the address that mremap is to move memory to.
void* map_private(void* at, std::size_t size, int flags) {
  constexpr int kAlways = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, at, size, PROT_READ | PROT_WRITE, kAlways | flags, -1, 0));
}
void* move_to(void* at, void* from, std::size_t size) {
  return reinterpret_cast<void*>(
      ::syscall(SYS_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at));
}
void unmap(void* at, std::size_t size) {
  ::syscall(SYS_munmap, at, size);
}

/// False when the program has closed the descriptor: programs close what they do not know.
bool has_file() {
  struct stat now = {};
  return ::fstat(forked_file, &now) == 0 && now.st_dev == forked_identity.st_dev &&
         now.st_ino == forked_identity.st_ino;
}

/// The same as for_each_extent() without the file, which needs longer. False when a page that is
/// swapped out, which looks like one that was never touched, may be among them.
template <class Each>
bool for_each_resident(Each each) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::array<unsigned char, 4096> pages = {};
  for (std::size_t at = 0; at < forked_bytes; at += pages.size() * page) {
    const std::size_t count = std::min(pages.size(), (forked_bytes - at) / page);
    if (::mincore(forked_memory + at, count * page, pages.data()) != 0) return false;
    for (std::size_t i = 0; i < count;) {
      const std::size_t first = i;
      while (i < count && (pages[i] & 1) != 0) ++i;
      if (first != i) {
        each(at + first * page, at + i * page);
      } else {
        ++i;
      }
    }
  }
  struct sysinfo system = {};
  return ::sysinfo(&system) == 0 && system.freeswap == system.totalswap;
}

/// Calls `each(begin, end)` for each range that has pages, ascending. False when they cannot be
/// found.
template <class Each>
bool for_each_extent(Each each) {
  if (!has_file()) return for_each_resident(each);
  off_t end = 0;
  while (true) {
    const off_t begin = ::lseek(forked_file, end, SEEK_DATA);
    if (begin < 0) return errno == ENXIO;
    if (static_cast<std::size_t>(begin) >= forked_bytes) return true;
    end = ::lseek(forked_file, begin, SEEK_HOLE);
    if (end < 0) return false;
    each(static_cast<std::size_t>(begin), std::min(static_cast<std::size_t>(end), forked_bytes));
  }
}

void prepare() {
  ::pthread_mutex_lock(&fork_turn);
  if (is_child) return;
  const int error = errno;
  copy = nullptr;
  copy_bytes = 0;
  is_whole = for_each_extent([](std::size_t, std::size_t end) { copy_bytes = end; });
  if (is_whole && copy_bytes != 0) {
    void* mapped = map_private(nullptr, copy_bytes, 0);
    is_whole = mapped != MAP_FAILED;
    if (is_whole) {
      copy = static_cast<std::byte*>(mapped);
      is_whole = for_each_extent([](std::size_t begin, std::size_t end) {
        end = std::min(end, copy_bytes);
        if (begin < end) std::memcpy(copy + begin, forked_memory + begin, end - begin);
      });
    }
  }
  errno = error;
}

void in_parent() {
  const int error = errno;
  if (copy != nullptr) unmap(copy, copy_bytes);
  copy = nullptr;
  errno = error;
  ::pthread_mutex_unlock(&fork_turn);
}

bool take_copy() {
  serving.store(false, std::memory_order_release);
  if (!is_whole) return false;
  if (copy != nullptr && move_to(forked_memory, copy, copy_bytes) != forked_memory) return false;
  std::byte* rest = forked_memory + copy_bytes;
  if (copy_bytes < forked_bytes && map_private(rest, forked_bytes - copy_bytes, MAP_FIXED) != rest)
    return false;
  // The parent's memory is not to live as long as this process does.
  if (has_file()) ::close(forked_file);
  return true;
}

void in_child() {
  const int error = errno;
  if (!is_child && !take_copy()) {
    constexpr char kSaid[] =
        "weft: WEFT_SHARED_HEAP: no copy of the heap in a child of fork: no memory, or its file is "
        "closed and the system swaps\n";
    [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, kSaid, sizeof kSaid - 1);
    ::_exit(127);
  }
  is_child = true;
  copy = nullptr;
  errno = error;
  ::pthread_mutex_unlock(&fork_turn);
}

}  // namespace

bool survive_fork(std::byte* memory, std::size_t bytes, int descriptor) {
  forked_memory = memory;
  forked_bytes = bytes;
  forked_file = descriptor;
  return ::fstat(descriptor, &forked_identity) == 0 &&
         ::pthread_atfork(prepare, in_parent, in_child) == 0;
}

}  // namespace weft::engine::heap
