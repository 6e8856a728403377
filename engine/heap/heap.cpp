#include "engine/heap/heap.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/cast.hpp"
#include "base/env.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "engine/heap/heap_fork.hpp"
#include "engine/heap/heap_limits.hpp"
#include "engine/heap/mimalloc.hpp"

namespace weft::engine::heap {

constinit Range range;
constinit std::atomic<bool> serving = false;
constinit std::atomic<const char*> hidden_because = nullptr;
constinit std::atomic<bool> has_only_long_blocks = false;
constinit MappingTrial trial;
constinit std::atomic<std::uint64_t> copied = 0;
thread_local constinit bool removes_pages = false;

namespace {

constexpr std::uint64_t kMostAsked = std::uint64_t{16} << 40;
constexpr std::size_t kHeapPage = 4096;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constinit Allocator allocator = {};
constinit std::atomic<std::uint64_t> refusals = 0;
constinit int heap_file = -1;

void* counted(void* block) noexcept {
  if (block == nullptr) refusals.fetch_add(1, std::memory_order_relaxed);
  return block;
}

/// Maps the file at a multiple of kSegmentBytes. Null with errno.
std::byte* map(int descriptor, std::size_t bytes) {
  void* reserved = ::mmap(nullptr, bytes + kSegmentBytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto* low = static_cast<std::byte*>(reserved);
  auto* begin = reinterpret_cast<std::byte*>(
      round_up(reinterpret_cast<std::uintptr_t>(low), std::uintptr_t{kSegmentBytes}));
  std::byte* const high = low + bytes + kSegmentBytes;
  if (begin != low) ::munmap(low, static_cast<std::size_t>(begin - low));
  ::munmap(begin + bytes, static_cast<std::size_t>(high - begin) - bytes);
  if (::mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
             descriptor, 0) == MAP_FAILED) {
    const int error = errno;
    ::munmap(begin, bytes);
    errno = error;
    return nullptr;
  }
  ::madvise(begin, bytes, MADV_HUGEPAGE);  // refused where there are none
  return begin;
}

std::string make(std::uint64_t asked) {
  if (kSanitized) return "built with a sanitizer, whose allocator stays";
  const Limit limit = limit_of(asked);
  if (!limit.why_none.empty()) return limit.why_none;
  File memory_file(::memfd_create("weft-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory_file) return SystemError("memfd_create(weft-heap)", errno).what();
  if (::ftruncate(memory_file.get(), static_cast<off_t>(limit.bytes)) != 0) {
    return SystemError(fmt::format("ftruncate(weft-heap, {} bytes)", limit.bytes), errno).what();
  }
  if (::fcntl(memory_file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return SystemError("fcntl(weft-heap, F_ADD_SEALS)", errno).what();
  }
  std::byte* memory = map(memory_file.get(), limit.bytes);
  if (memory == nullptr) {
    return SystemError(fmt::format("mmap(weft-heap, {} bytes)", limit.bytes), errno).what();
  }
  std::string why_not = open_allocator(allocator, memory, limit.bytes);
  if (why_not.empty() && !survive_fork(memory, limit.bytes, memory_file.get())) {
    why_not = "no memory for handlers of fork";
  }
  if (!why_not.empty()) {
    ::munmap(memory, limit.bytes);
    return why_not;
  }
  heap_file = memory_file.release();
  range.begin.store(reinterpret_cast<std::uintptr_t>(memory), std::memory_order_relaxed);
  range.bytes.store(limit.bytes, std::memory_order_relaxed);
  serving.store(true, std::memory_order_release);
  return {};
}

/// Returns the pages that lie wholly inside a block to the system.
void give_back(void* block, std::size_t bytes) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t begin = round_up(at, std::uintptr_t{kHeapPage});
  const std::uintptr_t end = (at + bytes) / kHeapPage * kHeapPage;
  const int error = errno;
  auto* const pages = reinterpret_cast<void*>(begin);
  // A child of fork has private memory.
  if (is_serving()) {
    remove_pages(pages, end - begin);
  } else {
    ::madvise(pages, end - begin, MADV_DONTNEED);
  }
  errno = error;
}

}  // namespace

bool remove_pages(void* begin, std::size_t bytes) noexcept {
  removes_pages = true;
  const bool done = ::madvise(begin, bytes, MADV_REMOVE) == 0;
  removes_pages = false;
  return done;
}

void hide(const char* reason) noexcept {
  const char* none = nullptr;
  hidden_because.compare_exchange_strong(none, reason, std::memory_order_relaxed);
}

bool is_left_to_weft() {
  return env::text("WEFT_SHARED_HEAP").value_or("auto") == "auto";
}

std::optional<std::uint64_t> wanted() {
  constexpr const char* kName = "WEFT_SHARED_HEAP";
  if (is_left_to_weft()) return std::nullopt;
  const std::string text = *env::text("WEFT_SHARED_HEAP");
  try {
    return env::parse_flag(kName, text) ? std::optional<std::uint64_t>(0) : std::nullopt;
  } catch (const UsageError&) {
    return env::parse_bytes(kName, text, kLeastBytes, kMostAsked);
  }
}

std::string start(std::uint64_t bytes) {
  // Never destroyed: blocks are freed until the very end of the process.
  static std::mutex& mutex = *new std::mutex;
  static bool done = false;
  static std::string& said = *new std::string;
  const std::lock_guard lock(mutex);
  if (!done) said = make(bytes);
  done = true;
  if (said.empty() && !is_serving()) return "a child of fork has none";
  return said;
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (!is_serving()) return nullptr;
  // An allocator that is full searches long: not for a block that can never fit.
  if (bytes >= range.bytes.load(std::memory_order_relaxed) || alignment >= kSegmentBytes) {
    return nullptr;
  }
  return counted(alignment == 0 ? allocator.allocate(bytes)
                                : allocator.allocate_aligned(bytes, alignment, 0));
}

void* allocate_zeroed(std::size_t bytes) noexcept {
  if (!is_serving()) return nullptr;
  if (bytes >= range.bytes.load(std::memory_order_relaxed)) return nullptr;
  return counted(allocator.allocate_zeroed(bytes));
}

void* reallocate(void* block, std::size_t bytes) noexcept {
  if (!is_serving()) return bytes <= usable_bytes(block) ? block : nullptr;
  if (bytes >= range.bytes.load(std::memory_order_relaxed)) return nullptr;
  return counted(allocator.reallocate(block, bytes));
}

void deallocate(void* block) noexcept {
  // Large blocks begin with a page: all others are too small to be given back.
  if (reinterpret_cast<std::uintptr_t>(block) % kHeapPage == 0) {
    const std::size_t bytes = allocator.usable_bytes(block);
    if (bytes >= kGivenBackBytes) give_back(block, bytes);
  }
  if (is_serving()) allocator.deallocate(block);
}

std::size_t usable_bytes(const void* block) noexcept {
  return allocator.usable_bytes(block);
}

std::uint64_t refused() noexcept {
  return refusals.load(std::memory_order_relaxed);
}

int descriptor() noexcept {
  return is_serving() ? heap_file : -1;
}

}  // namespace weft::engine::heap
