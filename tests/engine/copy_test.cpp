// Copies between strided pieces, and the ones that go past the caches.
#include "engine/copying/copy.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "engine/copying/copy.hpp"

namespace weft::engine::copy_test {
namespace {

using verbs::Layout;

/// A layout of `bytes` in blocks of one size, with gaps, in `memory` from a place of any alignment.
Layout any_layout(std::vector<std::byte>& memory, std::uint64_t bytes, std::uint64_t block) {
  const auto gap = *rc::gen::inRange<std::uint64_t>(0, 100);
  const auto skip = *rc::gen::inRange<std::uint64_t>(0, 65);
  const std::uint64_t count = bytes / block;
  memory.resize(skip + count * (block + gap) + 65);
  return {memory.data() + skip, block, count, block + gap, 0};
}

RC_GTEST_PROP(Copy, MovesItsBytesAndNoOthers, ()) {
  const auto small = *rc::gen::element<std::uint64_t>(1, 4, 8, 24, 64, 1000, 4096, 5003, 70'000);
  const auto here = *rc::gen::inRange<std::uint64_t>(1, 5);
  const auto there = *rc::gen::inRange<std::uint64_t>(1, 5);
  const std::uint64_t bytes = small * here * there;
  std::vector<std::byte> from, to;
  const Layout src = any_layout(from, bytes, small * here);
  const Layout dst = any_layout(to, bytes, small * there);
  for (auto& byte : from) byte = *rc::gen::arbitrary<bool>() ? std::byte{1} : std::byte{2};
  std::vector<std::byte> expected = to;
  Layout wanted = dst;
  wanted.base = expected.data() + (dst.base - to.data());
  std::vector<std::byte> packed(bytes);
  verbs::copy_out(src, 0, packed.data(), bytes);
  verbs::copy_in(wanted, 0, packed.data(), bytes);
  copy(dst, src, *rc::gen::arbitrary<bool>());
  RC_ASSERT(to == expected);
}

TEST(Caches, HaveTheSizeThatTheSystemReports) {
  std::uint64_t most = 0;
  const std::filesystem::path caches = "/sys/devices/system/cpu/cpu0/cache";
  std::error_code error;
  for (const auto& cache : std::filesystem::directory_iterator(caches, error)) {
    std::ifstream file(cache.path() / "size");
    std::uint64_t kib = 0;
    if (file >> kib) most = std::max(most, kib << 10);
  }
  if (most == 0) most = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_LEVEL3_CACHE_SIZE)));
  if (most == 0) GTEST_SKIP() << "the system does not report it";
  EXPECT_EQ(last_level_cache_bytes(), most);
}

RC_GTEST_PROP(Caches, AreExceededFromTheRanksShareOn, ()) {
  const auto ranks = *rc::gen::inRange<std::uint64_t>(1, 200);
  const std::uint64_t share = last_level_cache_bytes() / ranks;
  RC_ASSERT(!exceeds_caches(share, ranks));
  RC_ASSERT(exceeds_caches(share + 1, ranks));
  RC_ASSERT(exceeds_caches(UINT64_MAX, ranks));
  RC_ASSERT(!exceeds_caches(0, ranks));
}

}  // namespace
}  // namespace weft::engine::copy_test
