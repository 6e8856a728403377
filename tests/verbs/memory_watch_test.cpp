#include "verbs/registration/memory_watch.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>

namespace weft::verbs::memory_watch_test {
namespace {

/// In a process of its own, as it changes the allocator's settings: the end of the watch's thread
/// is made to unmap memory that is watched.
[[noreturn]] void end_a_watch_of_memory_that_goes_away() {
  constexpr std::size_t kBytes = 1 << 20;
  ::alarm(10);
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 32 * kBytes);
  mallopt(M_TRIM_THRESHOLD, 64 * kBytes);
  try {
    auto watch = MemoryWatch::get();
    void* memory = std::malloc(kBytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    watch->watch(begin, begin + kBytes);
    std::free(memory);
    mallopt(M_TRIM_THRESHOLD, 0);
    watch.reset();
  } catch (const std::exception&) {
    // Nothing can be watched on this machine.
  }
  ::_exit(0);
}

TEST(MemoryWatch, EndsAlthoughItsThreadUnmapsWatchedMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator does not give memory back";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_a_watch_of_memory_that_goes_away(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::verbs::memory_watch_test
