// The shared heap as an allocator. It is made once a process: each case has a process of its own.
#include "engine/heap/heap.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "tests/engine/fresh_process.hpp"

namespace weft::engine::heap_test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr std::size_t kSmallHeap = 512 << 20;

class SharedHeap : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's allocator stays";
  }
  template <class Body>
  static void with_heap(std::size_t bytes, Body body) {
    EXPECT_EQ(in_child([&] {
                ASSERT_EQ(heap::start(bytes), "");
                body();
              }),
              0);
  }
};

/// Random blocks, whose bytes say which block they are of.
class Blocks {
 public:
  Blocks(std::uint64_t seed, std::size_t most) : random_(seed), most_(most) {}
  ~Blocks() {
    for (auto& block : blocks_) release(block);
  }

  void step() {
    const std::size_t choice = random_() % 8;
    if (blocks_.empty() || choice < 4) {
      add(choice);
      return;
    }
    Block& block = blocks_[random_() % blocks_.size()];
    if (choice < 6) {
      check(block);
      resize(block);
    } else {
      release(block);
      std::swap(block, blocks_.back());
      blocks_.pop_back();
    }
  }
  void check_all() const {
    for (const Block& block : blocks_) check(block);
  }

 private:
  struct Block {
    unsigned char* at;
    std::size_t bytes;
    unsigned char mark;
  };

  std::size_t any_size() {
    // Small ones often.
    const std::size_t bits = random_() % 25;
    return std::min(most_, random_() % ((std::size_t{1} << bits) + 1));
  }
  void add(std::size_t choice) {
    const std::size_t bytes = any_size();
    const std::size_t alignment = choice == 0 ? std::size_t{1} << random_() % 23 : 0;
    void* at = choice == 1 ? heap::allocate_zeroed(bytes) : heap::allocate(bytes, alignment);
    ASSERT_NE(at, nullptr) << bytes << " bytes at " << alignment;
    Block block{static_cast<unsigned char*>(at), bytes, static_cast<unsigned char>(random_())};
    EXPECT_TRUE(heap::contains(at));
    EXPECT_GE(heap::usable_bytes(at), bytes);
    const std::size_t least = bytes >= 16 ? 16 : 8;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % std::max(alignment, least), 0u);
    if (choice == 1) {
      EXPECT_TRUE(std::all_of(block.at, block.at + bytes, [](auto byte) { return byte == 0; }));
    }
    std::memset(at, block.mark, bytes);
    blocks_.push_back(block);
  }
  void resize(Block& block) {
    const std::size_t bytes = any_size() + 1;
    void* at = heap::reallocate(block.at, bytes);
    ASSERT_NE(at, nullptr);
    block.at = static_cast<unsigned char*>(at);
    block.bytes = std::min(block.bytes, bytes);
    check(block);
    block.bytes = bytes;
    std::memset(at, block.mark, bytes);
  }
  static void check(const Block& block) {
    EXPECT_TRUE(std::all_of(block.at, block.at + block.bytes,
                            [&](unsigned char byte) { return byte == block.mark; }));
  }
  static void release(const Block& block) {
    check(block);
    heap::deallocate(block.at);
  }

  std::mt19937_64 random_;
  std::size_t most_;
  std::vector<Block> blocks_;
};

TEST_F(SharedHeap, ServesNothingBeforeItIsMade) {
  EXPECT_FALSE(heap::is_serving());
  EXPECT_EQ(heap::allocate(8), nullptr);
  int local = 0;
  EXPECT_FALSE(heap::contains(&local));
  EXPECT_FALSE(heap::contains(nullptr));
}

TEST_F(SharedHeap, KeepsEveryBlockApart) {
  with_heap(0, [] {
    Blocks blocks(1, 24 << 20);
    for (int i = 0; i < 4000; ++i) blocks.step();
  });
}

TEST_F(SharedHeap, AlignsBlocksOfAllSizes) {
  with_heap(0, [] {
    for (std::size_t alignment = 1; alignment <= (16u << 20); alignment *= 2) {
      for (const std::size_t bytes : {alignment / 2, alignment, alignment + 1, 3 * alignment}) {
        for (int i = 0; i < 3; ++i) {
          void* block = heap::allocate(bytes, alignment);
          ASSERT_NE(block, nullptr) << bytes << " bytes at " << alignment;
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u)
              << bytes << " bytes at " << alignment;
        }
      }
    }
  });
}

TEST_F(SharedHeap, ServesManyThreadsThatComeAndGo) {
  with_heap(0, [] {
    for (std::uint64_t round = 0; round < 20; ++round) {
      std::vector<std::thread> threads;
      for (std::uint64_t i = 0; i < 8; ++i) {
        threads.emplace_back([seed = 8 * round + i] {
          Blocks blocks(seed, 1 << 20);
          for (int k = 0; k < 300; ++k) blocks.step();
        });
      }
      for (auto& thread : threads) thread.join();
    }
  });
}

TEST_F(SharedHeap, FreesBlocksOfOtherThreads) {
  // More than the heap has, if what a thread leaves behind when it ends were lost.
  with_heap(kSmallHeap, [] {
    for (int round = 0; round < 64; ++round) {
      std::vector<void*> blocks;
      std::thread([&blocks] {
        for (int i = 0; i < 64; ++i) blocks.push_back(heap::allocate(256 << 10));
      }).join();
      for (void* block : blocks) {
        ASSERT_NE(block, nullptr);
        std::memset(block, 1, 256 << 10);
        heap::deallocate(block);
      }
    }
  });
}

TEST_F(SharedHeap, RefusesBlocksThatDoNotFitAndGoesOn) {
  with_heap(kSmallHeap, [] {
    EXPECT_EQ(heap::allocate(kSmallHeap), nullptr);
    EXPECT_EQ(heap::allocate(SIZE_MAX / 2), nullptr);
    EXPECT_EQ(heap::allocate(1 << 20, 1 << 30), nullptr);
    EXPECT_EQ(heap::refused(), 0u);
    std::vector<void*> blocks;
    while (void* block = heap::allocate(20 << 20)) {
      ASSERT_LT(blocks.size(), 26u);
      blocks.push_back(block);
    }
    EXPECT_GE(blocks.size(), 10u);
    EXPECT_EQ(heap::reallocate(blocks[0], 300 << 20), nullptr);
    EXPECT_GE(heap::refused(), 2u);
    for (void* block : blocks) heap::deallocate(block);
    void* again = heap::allocate(20 << 20);
    EXPECT_NE(again, nullptr);
    heap::deallocate(again);
  });
}

TEST_F(SharedHeap, GivesLargeBlocksBackToTheSystem) {
  with_heap(0, [] {
    const auto held = [] {
      struct stat status {};
      EXPECT_EQ(::fstat(heap::descriptor(), &status), 0);
      return static_cast<std::size_t>(status.st_blocks) * 512;
    };
    constexpr std::size_t kBytes = 100 << 20;
    void* block = heap::allocate(kBytes);
    ASSERT_NE(block, nullptr);
    std::memset(block, 1, kBytes);
    EXPECT_GE(held(), kBytes);
    heap::deallocate(block);
    EXPECT_LT(held(), kBytes / 2);
    auto* zeros = static_cast<unsigned char*>(heap::allocate_zeroed(kBytes));
    ASSERT_NE(zeros, nullptr);
    EXPECT_TRUE(std::all_of(zeros, zeros + kBytes, [](auto byte) { return byte == 0; }));
  });
}

TEST_F(SharedHeap, StaysWithinTheLimitsOfTheProcess) {
  EXPECT_EQ(in_child([] {
              // Were it made larger, the system would end us.
              const rlimit limit{256 << 20, 256 << 20};
              ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
              ASSERT_EQ(heap::start(0), "");
              EXPECT_LE(heap::range.bytes, std::size_t{256} << 20);
              EXPECT_NE(heap::allocate(8), nullptr);
            }),
            0);
  EXPECT_EQ(in_child([] {
              const rlimit limit{1 << 20, 1 << 20};
              ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
              EXPECT_NE(heap::start(0).find("ulimit -f"), std::string::npos);
              EXPECT_FALSE(heap::is_serving());
              EXPECT_EQ(heap::allocate(8), nullptr);
            }),
            0);
}

TEST_F(SharedHeap, NeedsADescriptor) {
  EXPECT_EQ(in_child([] {
              const rlimit none{0, 0};
              ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
              EXPECT_NE(heap::start(0), "");
              EXPECT_EQ(heap::allocate(8), nullptr);
            }),
            0);
}

TEST(SharedHeapSetting, IsAFlagOrASize) {
  const auto read = [](const char* text) {
    ::setenv("WEFT_SHARED_HEAP", text, 1);
    const auto wanted = heap::wanted();
    ::unsetenv("WEFT_SHARED_HEAP");
    return wanted;
  };
  EXPECT_EQ(heap::wanted(), std::nullopt);
  EXPECT_EQ(read("0"), std::nullopt);
  EXPECT_EQ(read("auto"), std::nullopt);
  EXPECT_EQ(read("off"), std::nullopt);
  EXPECT_EQ(read("1"), 0u);
  EXPECT_EQ(read("on"), 0u);
  EXPECT_EQ(read("2G"), std::uint64_t{2} << 30);
  EXPECT_TRUE(heap::is_left_to_weft());
  ::setenv("WEFT_SHARED_HEAP", "auto", 1);
  EXPECT_TRUE(heap::is_left_to_weft());
  ::setenv("WEFT_SHARED_HEAP", "0", 1);
  EXPECT_FALSE(heap::is_left_to_weft());
  EXPECT_THROW(read("much"), UsageError);
  EXPECT_THROW(read("2"), UsageError);
  ::unsetenv("WEFT_SHARED_HEAP");
}

}  // namespace
}  // namespace weft::engine::heap_test
