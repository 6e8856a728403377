#include "verbs/registration/registration_cache.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.hpp"

namespace weft::verbs::registration_cache_test {
namespace {

PortSettings soft() {
  PortSettings settings;
  settings.ports = {{"soft", 0}};
  return settings;
}

/// Anonymous memory that is unmapped at the end, or before.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    void* memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw_errno("mmap");
    data_ = static_cast<std::byte*>(memory);
  }
  ~Pages() { unmap(); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void unmap() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    data_ = nullptr;
  }
  std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

class Registrations : public testing::Test {
 protected:
  void SetUp() override {
    RegistrationCache cache(endpoint_, {});
    if (!cache.why_not().empty()) GTEST_SKIP() << cache.why_not();
  }
  static RegistrationCache::Keys use(RegistrationCache::User& user, const void* memory,
                                     std::size_t bytes) {
    RegistrationCache::Keys keys;
    EXPECT_TRUE(user.acquire(memory, bytes, keys)) << user.error();
    user.release();
    return keys;
  }
  Endpoint endpoint_{soft()};
};

TEST_F(Registrations, AreFoundAgainAlsoForPartsOfABuffer) {
  RegistrationCache cache(endpoint_, {});
  RegistrationCache::User user(cache);
  const Pages pages(1 << 20);
  const auto keys = use(user, pages.data(), 1 << 20);
  EXPECT_NE(keys.lkey, 0u);
  for (const std::size_t at : {0, 4096, 100}) {
    EXPECT_EQ(use(user, pages.data() + at, 8192).rkey, keys.rkey);
  }
  EXPECT_EQ(user.counters().misses, 1u);
  EXPECT_EQ(user.counters().hits, 3u);
}

TEST_F(Registrations, AreForgottenWhenMemoryGoesAway) {
  constexpr std::size_t kBytes = 1 << 20;
  RegistrationCache cache(endpoint_, {});
  RegistrationCache::User user(cache);
  const auto expect_forgotten = [&](const char* how, const auto& take_away) {
    Pages pages(kBytes);
    use(user, pages.data(), kBytes);
    const auto before = user.counters();
    take_away(pages);
    const Pages other(kBytes);
    use(user, other.data(), kBytes);
    EXPECT_EQ(user.counters().invalidated, before.invalidated + 1) << how;
    EXPECT_EQ(user.counters().misses, before.misses + 1) << how;
  };
  expect_forgotten("munmap", [](Pages& pages) { pages.unmap(); });
  expect_forgotten("munmap of a page", [](Pages& pages) { ::munmap(pages.data() + 8192, 4096); });
  expect_forgotten("madvise", [](Pages& pages) { ::madvise(pages.data(), kBytes, MADV_DONTNEED); });
  expect_forgotten("mmap over it", [](Pages& pages) {
    ::mmap(pages.data() + 4096, 4096, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  });
  expect_forgotten("mremap", [](Pages& pages) {
    const Pages room(kBytes);
    ::mremap(pages.data(), kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, room.data());
  });
}

TEST_F(Registrations, OfFreedMemoryAreNeverFoundForNewMemoryAtItsAddress) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's free() keeps memory back";
#endif
  RegistrationCache cache(endpoint_, {std::uint64_t{64} << 20, 16});
  RegistrationCache::User user(cache);
  // Blocks above malloc's threshold come and go by mmap and munmap, at the same addresses mostly.
  std::uint64_t again = 0;
  const void* last = nullptr;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t bytes = std::size_t{4} << 20;
    void* memory = std::aligned_alloc(4096, bytes);
    std::memset(memory, round, 64);
    again += memory == last ? 1 : 0;
    last = memory;
    const auto before = user.counters().misses;
    use(user, memory, bytes);
    EXPECT_EQ(user.counters().misses, before + 1) << "round " << round;
    std::free(memory);
  }
  EXPECT_GT(again, 0u) << "the case did not arise";
  EXPECT_LE(cache.bytes(), std::uint64_t{64} << 20);
}

RC_GTEST_FIXTURE_PROP(Registrations, StayWithinTheirLimits, (std::vector<std::uint16_t> picks)) {
  constexpr std::uint64_t kMost = 256 << 10;
  RegistrationCache cache(endpoint_, {kMost, 5});
  RegistrationCache::User user(cache);
  const Pages pages(1 << 20);
  for (const std::uint16_t pick : picks) {
    const std::size_t begin = pick % 128 * 4096u;
    const std::size_t bytes = (1 + pick / 128 % 128) * 4096u;
    use(user, pages.data() + begin, bytes);
    RC_ASSERT(cache.bytes() <= kMost);
    RC_ASSERT(cache.entries() <= 5u);
  }
}

TEST_F(Registrations, UsedLeastRecentlyAreEvictedFirst) {
  RegistrationCache cache(endpoint_, {1 << 20, 3});
  RegistrationCache::User user(cache);
  const Pages pages(1 << 20);
  const auto at = [&](int i) { return pages.data() + i * 65536; };
  for (const int i : {0, 1, 2}) use(user, at(i), 4096);
  use(user, at(0), 4096);
  use(user, at(3), 4096);  // 1 goes
  use(user, at(0), 4096);
  EXPECT_EQ(user.counters().misses, 4u);
  EXPECT_EQ(user.counters().evictions, 1u);
  use(user, at(1), 4096);
  EXPECT_EQ(user.counters().misses, 5u);
}

TEST_F(Registrations, InUseAreNotEvicted) {
  RegistrationCache cache(endpoint_, {8192, 2});
  RegistrationCache::User user(cache);
  const Pages pages(1 << 20);
  RegistrationCache::Keys first;
  RegistrationCache::Keys second;
  ASSERT_TRUE(user.acquire(pages.data(), 65536, first));
  ASSERT_TRUE(user.acquire(pages.data() + 65536, 65536, second));
  EXPECT_NE(first.lkey, second.lkey);
  RegistrationCache::Keys again;
  ASSERT_TRUE(user.acquire(pages.data(), 65536, again));
  EXPECT_EQ(again.lkey, first.lkey);
  user.release();
  EXPECT_EQ(cache.entries(), 0u);
}

TEST_F(Registrations, OfOneUserOutliveTheReleaseOfAnother) {
  RegistrationCache cache(endpoint_, {0, 512});  // keeps nothing that is not in use
  RegistrationCache::User user(cache);
  const Pages pages(1 << 20);
  RegistrationCache::Keys keys;
  ASSERT_TRUE(user.acquire(pages.data(), 65536, keys));
  {
    RegistrationCache::User other(cache);
    RegistrationCache::Keys others;
    ASSERT_TRUE(other.acquire(pages.data(), 65536, others));
    other.release();
  }
  EXPECT_NE(endpoint_.region(keys.lkey).lkeys[0], 0u);
  user.release();
  EXPECT_EQ(cache.entries(), 0u);
}

TEST_F(Registrations, AreSharedByTheirUsers) {
  RegistrationCache cache(endpoint_, {});
  RegistrationCache::User user(cache);
  RegistrationCache::User other(cache);
  const Pages pages(1 << 20);
  RegistrationCache::Keys first;
  RegistrationCache::Keys second;
  ASSERT_TRUE(user.acquire(pages.data(), 65536, first));
  ASSERT_TRUE(other.acquire(pages.data() + 4096, 4096, second));
  EXPECT_EQ(first.lkey, second.lkey);
  EXPECT_EQ(other.counters().hits, 1u);
}

TEST_F(Registrations, OfInitializedDataAreMadeForEachUse) {
  static char data[65536] = {1};
  RegistrationCache cache(endpoint_, {});
  RegistrationCache::User user(cache);
  use(user, data, sizeof data);
  use(user, data, sizeof data);
  // The kernel may or may not be able to watch it; both are right.
  EXPECT_EQ(user.counters().misses + user.counters().hits, 2u);
}

TEST_F(Registrations, AreNotKeptWithALimitOfZero) {
  RegistrationCache cache(endpoint_, {0, 512});
  RegistrationCache::User user(cache);
  EXPECT_EQ(cache.why_not(), "the limit is 0");
  const Pages pages(1 << 20);
  use(user, pages.data(), 4096);
  use(user, pages.data(), 4096);
  EXPECT_EQ(user.counters().misses, 2u);
  EXPECT_EQ(cache.entries(), 0u);
}

TEST_F(Registrations, ThatAreRefusedHaveTheReason) {
  RegistrationCache cache(endpoint_, {});
  RegistrationCache::User user(cache);
  RegistrationCache::Keys keys;
  EXPECT_FALSE(user.acquire(reinterpret_cast<void*>(4096), 1 << 20, keys));
  EXPECT_NE(user.error().find("ibv_reg_mr"), std::string::npos) << user.error();
  user.release();
  EXPECT_EQ(cache.entries(), 0u);
  EXPECT_GE(user.counters().refused, 1u);
}

}  // namespace
}  // namespace weft::verbs::registration_cache_test
