// Long vectors inside a node: reduced in one pass, in the order of the ranks.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "tests/comm/run_ranks.hpp"

namespace weft {
namespace {

std::atomic<int> folds = 0;
std::atomic<int> combines = 0;

/// x op y = 3 x + y: neither associative nor commutative, so the grouping from the left shows.
Operation chained() {
  Operation operation;
  operation.element_bytes = sizeof(std::uint32_t);
  operation.commutative = false;
  operation.combine = [](const void*, std::byte* dst, const std::byte* left, const std::byte* right,
                         std::size_t elements) {
    ++combines;
    for (std::size_t at = 0; at < elements * 4; at += 4) {
      std::uint32_t x = 0, y = 0;
      std::memcpy(&x, left + at, 4);
      std::memcpy(&y, right + at, 4);
      x = 3 * x + y;
      std::memcpy(dst + at, &x, 4);
    }
  };
  operation.fold = [](const void*, std::byte* dst, const std::byte* const* sources,
                      std::size_t count, std::size_t elements) {
    ++folds;
    for (std::size_t at = 0; at < elements * 4; at += 4) {
      std::uint32_t x = 0;
      for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t y = 0;
        std::memcpy(&y, sources[i] + at, 4);
        x = 3 * x + y;
      }
      std::memcpy(dst + at, &x, 4);
    }
  };
  return operation;
}

TEST(Folds, AreOnePassForEachPart) {
  constexpr std::size_t kElements = 50'000;
  for (const int ranks : {2, 3, 5}) {
    for (const char* algorithm :
         {"leader:leaders=all,direct=1", "leader:leaders=all", "everyone"}) {
      folds = combines = 0;
      const auto body = [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
        Options options;
        options.algorithms["allreduce"] = algorithm;
        Communicator comm(std::move(bootstrap), options);
        std::vector<std::uint32_t> in(kElements), out(kElements);
        for (std::size_t i = 0; i < kElements; ++i) {
          in[i] = static_cast<std::uint32_t>(i * 7 + static_cast<std::size_t>(rank) * 1000);
        }
        comm.allreduce(in.data(), out.data(), kElements, chained());
        for (std::size_t i = 0; i < kElements; ++i) {
          std::uint32_t expected = 0;
          for (int other = 0; other < ranks; ++other) {
            const auto theirs = static_cast<std::uint32_t>(other) * 1000;
            expected = 3 * expected + static_cast<std::uint32_t>(i * 7) + theirs;
          }
          ASSERT_EQ(out[i], expected) << algorithm << ", element " << i;
        }
      };
      EXPECT_EQ(test::run_ranks(ranks, body), test::none(ranks));
      // Each rank reduces its part, or everything.
      EXPECT_EQ(folds, ranks) << algorithm;
      EXPECT_EQ(combines, 0) << algorithm;
    }
  }
}

}  // namespace
}  // namespace weft
