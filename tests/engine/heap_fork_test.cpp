// The shared heap across fork, in all its ways.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "engine/heap/heap.hpp"
#include "tests/engine/fresh_process.hpp"

namespace weft::engine::heap_fork_test {
namespace {

constexpr std::size_t kBytes = 3 << 20;

unsigned char* filled(std::size_t bytes, int value) {
  void* block = heap::allocate(bytes);
  EXPECT_NE(block, nullptr);
  if (block != nullptr) std::memset(block, value, bytes);
  return static_cast<unsigned char*>(block);
}

bool holds(const unsigned char* block, std::size_t bytes, int value) {
  return std::all_of(block, block + bytes, [value](unsigned char byte) { return byte == value; });
}

/// Two processes that take turns.
class Turns {
 public:
  Turns()
      : word_(new (::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                  std::atomic<int>(0)) {}
  void come_to(int turn) { word_->store(turn); }
  void wait_for(int turn) const {
    while (word_->load() < turn) ::sched_yield();
  }

 private:
  std::atomic<int>* word_;
};

class HeapFork : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's allocator stays";
#endif
  }
  template <class Body>
  static void with_heap(Body body) {
    EXPECT_EQ(in_child([&] {
                ASSERT_EQ(heap::start(0), "");
                body();
              }),
              0);
  }
};

TEST_F(HeapFork, ChildAndParentWriteToMemoryOfTheirOwn) {
  with_heap([] {
    unsigned char* block = filled(kBytes, 1);
    Turns turns;
    const pid_t child = begin_child([&] {
      EXPECT_TRUE(holds(block, kBytes, 1));
      std::memset(block, 2, kBytes);
      turns.come_to(1);
      turns.wait_for(2);
      EXPECT_TRUE(holds(block, kBytes, 2));
    });
    turns.wait_for(1);
    EXPECT_TRUE(holds(block, kBytes, 1));
    std::memset(block, 3, kBytes);
    turns.come_to(2);
    EXPECT_EQ(code_of(child), 0);
    EXPECT_TRUE(holds(block, kBytes, 3));
  });
}

TEST_F(HeapFork, ChildSeesTheBytesOfTheMomentOfFork) {
  with_heap([] {
    unsigned char* block = filled(kBytes, 1);
    Turns turns;
    const pid_t child = begin_child([&] {
      turns.wait_for(1);
      EXPECT_TRUE(holds(block, kBytes, 1));
    });
    std::memset(block, 9, kBytes);
    turns.come_to(1);
    EXPECT_EQ(code_of(child), 0);
  });
}

TEST_F(HeapFork, ChildFreesAndResizesWhatItInherits) {
  with_heap([] {
    unsigned char* kept = filled(kBytes, 1);
    std::vector<unsigned char*> blocks;
    for (std::size_t bytes = 1; bytes < (64u << 20); bytes *= 3) blocks.push_back(filled(bytes, 5));
    const int code = in_child([&] {
      EXPECT_FALSE(heap::is_serving());
      EXPECT_EQ(heap::allocate(8), nullptr);
      EXPECT_EQ(heap::descriptor(), -1);
      EXPECT_NE(heap::start(0), "");
      EXPECT_TRUE(heap::contains(kept));
      EXPECT_GE(heap::usable_bytes(kept), kBytes);
      EXPECT_EQ(heap::reallocate(kept, kBytes / 2), kept);
      EXPECT_EQ(heap::reallocate(kept, 100 << 20), nullptr);
      EXPECT_TRUE(holds(kept, kBytes, 1));
      for (unsigned char* block : blocks) heap::deallocate(block);
    });
    EXPECT_EQ(code, 0);
    std::size_t bytes = 1;
    for (unsigned char* block : blocks) {
      EXPECT_TRUE(holds(block, bytes, 5));
      bytes *= 3;
      heap::deallocate(block);
    }
    // The parent goes on.
    filled(kBytes, 4);
  });
}

TEST_F(HeapFork, ChildrenForkAgain) {
  with_heap([] {
    unsigned char* block = filled(kBytes, 1);
    const int code = in_child([&] {
      std::memset(block, 2, kBytes);
      EXPECT_EQ(in_child([&] {
                  EXPECT_TRUE(holds(block, kBytes, 2));
                  std::memset(block, 3, kBytes);
                }),
                0);
      EXPECT_TRUE(holds(block, kBytes, 2));
    });
    EXPECT_EQ(code, 0);
    EXPECT_TRUE(holds(block, kBytes, 1));
    EXPECT_EQ(in_child([&] { EXPECT_TRUE(holds(block, kBytes, 1)); }), 0);
  });
}

TEST_F(HeapFork, ThreadsForkWhileOthersAllocate) {
  with_heap([] {
    std::atomic<bool> stop = false;
    std::vector<std::thread> busy;
    for (int i = 0; i < 2; ++i) {
      busy.emplace_back([&stop] {
        while (!stop) {
          unsigned char* block = filled(40000, 7);
          EXPECT_TRUE(holds(block, 40000, 7));
          heap::deallocate(block);
        }
      });
    }
    std::vector<std::thread> forking;
    for (int i = 0; i < 2; ++i) {
      forking.emplace_back([i] {
        unsigned char* mine = filled(kBytes, i);
        for (int k = 0; k < 20; ++k) {
          const pid_t child = ::fork();
          if (child == 0) {
            const bool good = holds(mine, kBytes, i);
            std::memset(mine, 99, kBytes);
            heap::deallocate(mine);
            ::_exit(good ? 0 : 1);
          }
          EXPECT_EQ(code_of(child), 0);
          EXPECT_TRUE(holds(mine, kBytes, i));
        }
      });
    }
    for (auto& thread : forking) thread.join();
    stop = true;
    for (auto& thread : busy) thread.join();
  });
}

TEST_F(HeapFork, ProgramsAreExecuted) {
  with_heap([] {
    unsigned char* block = filled(kBytes, 1);
    // Words on the heap: they must reach the new program.
    auto* words = reinterpret_cast<char*>(filled(64, 0));
    std::strcpy(words, "exit 7");
    std::array<char*, 4> arguments = {const_cast<char*>("sh"), const_cast<char*>("-c"), words,
                                      nullptr};
    pid_t spawned = 0;
    ASSERT_EQ(::posix_spawn(&spawned, "/bin/sh", nullptr, nullptr, arguments.data(), environ), 0);
    EXPECT_EQ(code_of(spawned), 7);
    const pid_t forked = ::fork();
    if (forked == 0) {
      ::execv("/bin/sh", arguments.data());
      ::_exit(1);
    }
    EXPECT_EQ(code_of(forked), 7);
    const pid_t lent = ::vfork();
    if (lent == 0) {
      ::execv("/bin/sh", arguments.data());
      ::_exit(1);
    }
    EXPECT_EQ(code_of(lent), 7);
    EXPECT_TRUE(holds(block, kBytes, 1));
  });
}

TEST_F(HeapFork, FullHeapsAreCopiedToTheirEnd) {
  EXPECT_EQ(in_child([] {
              ASSERT_EQ(heap::start(64 << 20), "");
              const std::size_t bytes = heap::range.bytes;
              // All of it, whoever's block it is: the allocator is not asked again.
              auto* last = reinterpret_cast<unsigned char*>(heap::range.begin + bytes - 1);
              *last = 5;
              EXPECT_EQ(in_child([&] { EXPECT_EQ((*last)++, 5); }), 0);
              EXPECT_EQ(*last, 5);
            }),
            0);
}

TEST_F(HeapFork, EmptyHeapsAreCopiedToo) {
  with_heap([] { EXPECT_EQ(in_child([] { EXPECT_FALSE(heap::is_serving()); }), 0); });
}

TEST_F(HeapFork, ChildHasItsCopyWhereTheProgramHasClosedTheFile) {
  struct sysinfo system = {};
  ASSERT_EQ(::sysinfo(&system), 0);
  with_heap([swaps = system.freeswap != system.totalswap] {
    unsigned char* block = filled(kBytes, 1);
    unsigned char* far = filled(40 << 20, 3);
    far[20 << 20] = 4;
    ::close(heap::descriptor());
    const int code = in_child([&] {
      EXPECT_TRUE(holds(block, kBytes, 1));
      EXPECT_EQ(far[20 << 20], 4);
      EXPECT_EQ(far[(40 << 20) - 1], 3);
      std::memset(block, 2, kBytes);
    });
    EXPECT_EQ(code, swaps ? 127 : 0);
    EXPECT_TRUE(holds(block, kBytes, 1));
  });
}

}  // namespace
}  // namespace weft::engine::heap_fork_test
