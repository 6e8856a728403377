#include "mpi/allocator/heap_policy.hpp"

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <initializer_list>
#include <string>

#include "base/env.hpp"
#include "engine/heap/heap.hpp"
#include "engine/heap/heap_limits.hpp"

namespace weft::mpi {

namespace heap = engine::heap;

constinit HeapPolicy heap_policy;

namespace {

constexpr std::size_t kHugePage = 2 << 20;
// The ranks of a node together take no more than this part of its memory.
constexpr std::uint64_t kPartOfMemory = 4;
// An allocator that is nearly full searches long, so that much of its range stays free.
constexpr std::uint64_t kSpareParts = 4;
// Where a process may open fewer, the heap's descriptor may be one that the program needs.
constexpr rlim_t kEnoughFiles = 256;

// The first touch of a page of shared memory, and its return (AMD EPYC in a virtual machine, Linux
// 6.18; private memory: 1500). The whole of it is lost: the other allocator has touched as much as
// it would without a heap where its blocks and the heap's are in use at different times.
constexpr double kTouch_ns_a_byte = 2800.0 / 4096;
// A page that is read by loads saves this part of that, as no system call has to find and pin it.
constexpr double kCopiesOfATouch = 16;
// What first touches may cost where nothing is read: of this many bytes for a core (14 ms), which
// the ranks on it share, and a part of the process's processor time.
constexpr std::uint64_t kAllowance = 20 << 20;
constexpr double kPartOfTime = 0.002;
// Processor time takes a system call: so long it is not asked for anew.
constexpr std::int64_t kBetweenLooks_ns = 10'000'000;

std::int64_t now_ns(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Bytes that first touches have become worth since the start.
double earned() noexcept {
  const auto time = static_cast<double>(now_ns(CLOCK_PROCESS_CPUTIME_ID));
  const auto copied = static_cast<double>(heap::copied_bytes());
  return kPartOfTime * time / kTouch_ns_a_byte + copied / kCopiesOfATouch;
}

/// The allowance of each of so many ranks of a node. Not by affinity, which launchers set for each
/// rank alone.
std::uint64_t allowance_of(std::uint64_t ranks) noexcept {
  const auto cores = static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return ranks <= cores ? kAllowance : kAllowance * cores / ranks;
}

/// The ranks of this node, as the launcher says; 0 without one.
std::uint64_t ranks_here() {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"}) {
    // Of Slurm's "4(x2),3" the first number.
    if (const char* text = std::getenv(name)) return std::strtoull(text, nullptr, 10);
  }
  return 0;
}

/// A word in brackets is the one that holds, of those in a file under
/// /sys/kernel/mm/transparent_hugepage.
bool huge_pages_are(const char* file, std::initializer_list<const char*> words) {
  std::ifstream stream(std::string("/sys/kernel/mm/transparent_hugepage/") + file);
  std::string line;
  std::getline(stream, line);
  return std::ranges::any_of(words, [&](const char* word) {
    return line.find(std::string("[") + word + "]") != std::string::npos;
  });
}

/// Whether this process may have less than `enough` of a resource.
bool has_limit(int resource, rlim_t enough) {
  rlimit limit{};
  return ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 ||
         limit.rlim_cur < enough;
}

/// A program whose allocations are watched: it is built so, or runs under valgrind, which knows the
/// blocks of the C library only, and takes seconds for a mapping as large as the heap.
bool is_watched() {
  const char* const preload = std::getenv("LD_PRELOAD");
  if (preload != nullptr && std::strstr(preload, "vgpreload") != nullptr) return true;
  return ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr ||
         ::dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr ||
         ::dlsym(RTLD_DEFAULT, "__msan_init") != nullptr;
}

}  // namespace

void HeapPolicy::start() noexcept {
  try {
    if (env::flag("WEFT_DISABLE").value_or(false)) return;
    if (heap::is_left_to_weft()) return start_by_itself();
    const auto bytes = heap::wanted();
    if (bytes && heap::start(*bytes).empty()) least_ = 0;
  } catch (const std::exception&) {
    // MPI_Init reads the settings again, and reports the error.
  }
}

void HeapPolicy::start_by_itself() {
  const std::uint64_t ranks = ranks_here();
  if (ranks < 2 || is_watched()) return;
  if (has_limit(RLIMIT_AS, RLIM_INFINITY) || has_limit(RLIMIT_FSIZE, RLIM_INFINITY)) return;
  if (has_limit(RLIMIT_NOFILE, kEnoughFiles)) return;
  const std::uint64_t bytes = heap::limit_of(0).bytes / kPartOfMemory / ranks;
  if (bytes < heap::kLeastBytes || !heap::start(bytes).empty()) return;
  budget_ = bytes - bytes / kSpareParts;
  allowance_ = allowance_of(ranks);
  by_itself_ = heap::has_only_long_blocks = true;
  has_huge_pages_ = huge_pages_are("shmem_enabled", {"always", "within_size", "advise", "force"});
  if (huge_pages_are("enabled", {"always"}) && !has_huge_pages_) most_ = kHugePage;
  least_ = heap::kLongBlock;
}

bool HeapPolicy::is_worth(std::size_t bytes) noexcept {
  std::size_t touched = in_use_.load(std::memory_order_relaxed) + bytes;
  if (touched > budget_ || heap::Pause::is_on()) return false;
  if (has_huge_pages_) return true;
  if (bytes >= heap::kGivenBackBytes) touched += touched_again_.load(std::memory_order_relaxed);
  if (touched <= worth_.load(std::memory_order_relaxed)) return true;
  const std::int64_t now = now_ns(CLOCK_MONOTONIC_COARSE);
  if (now < next_look_ns_.load(std::memory_order_relaxed)) return false;
  next_look_ns_.store(now + kBetweenLooks_ns, std::memory_order_relaxed);
  const auto worth_now = allowance_ + static_cast<std::size_t>(earned());
  worth_.store(worth_now, std::memory_order_relaxed);
  return touched <= worth_now;
}

void HeapPolicy::take_less_than(std::size_t bytes) noexcept {
  std::size_t most = most_.load(std::memory_order_relaxed);
  while (bytes < most && !most_.compare_exchange_weak(most, bytes, std::memory_order_relaxed)) {
  }
}

/// A range that is in pieces is searched long for what does not fit.
void HeapPolicy::took(const void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return take_less_than(bytes);
  in_use_.fetch_add(heap::usable_bytes(block), std::memory_order_relaxed);
}

void HeapPolicy::freed(const void* block) noexcept {
  const std::size_t bytes = heap::usable_bytes(block);
  in_use_.fetch_sub(bytes, std::memory_order_relaxed);
  if (bytes >= heap::kGivenBackBytes) touched_again_.fetch_add(bytes, std::memory_order_relaxed);
}

void HeapPolicy::wants_huge_pages() noexcept {
  if (by_itself_ && !has_huge_pages_) take_less_than(kHugePage);
}

}  // namespace weft::mpi
