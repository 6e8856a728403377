// Long vectors inside a node: reduced in one pass, in the order of the ranks.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::folds_test {
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

std::vector<std::uint32_t> input_of(int rank, std::size_t elements) {
  std::vector<std::uint32_t> in(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    in[i] = static_cast<std::uint32_t>(i * 7 + static_cast<std::size_t>(rank) * 1000);
  }
  return in;
}

std::vector<std::uint32_t> reduced(int ranks, std::size_t elements) {
  std::vector<std::uint32_t> all(elements);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto theirs = input_of(rank, elements);
    for (std::size_t i = 0; i < elements; ++i) all[i] = 3 * all[i] + theirs[i];
  }
  return all;
}

TEST(Folds, TakeOnePassForEachPart) {
  constexpr std::size_t kElements = 50'000;
  for (const int ranks : {2, 3, 5}) {
    const auto expected = reduced(ranks, kElements);
    for (const char* algorithm :
         {"leader:leaders=all,direct=1", "leader:leaders=all", "everyone"}) {
      folds = combines = 0;
      const auto body = [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
        Options options;
        options.algorithms["allreduce"] = algorithm;
        Communicator comm(std::move(bootstrap), options);
        const auto in = input_of(rank, kElements);
        std::vector<std::uint32_t> out(kElements);
        comm.allreduce(in.data(), out.data(), kElements, chained());
        ASSERT_EQ(out, expected) << algorithm;
        EXPECT_EQ(test::other_than(algorithm, "allreduce", comm), "");
      };
      EXPECT_EQ(test::run_ranks(ranks, body), test::none(ranks));
      // Each rank reduces its part, or everything.
      EXPECT_EQ(folds, ranks) << algorithm;
      EXPECT_EQ(combines, 0) << algorithm;
    }
  }
}

// Reads other processes' vectors piece by piece: of each as many bytes, whole elements, as together
// fit into a cache.
TEST(Folds, FetchPiecesOfOtherProcesses) {
  constexpr std::size_t kElements = 500'003;
  for (const int ranks : {2, 3, 11}) {
    const auto body = [&](int rank) -> std::string {
      Options options;
      constexpr const char* kAlgorithm = "leader:leaders=all,direct=1";
      options.algorithms["allreduce"] = kAlgorithm;
      Communicator comm(tcp_bootstrap(), options);
      if (comm.statistics().view != "cma") return "right (no cma here)";
      const auto in = input_of(rank, kElements);
      std::vector<std::uint32_t> out(kElements);
      comm.allreduce(in.data(), out.data(), kElements, chained());
      if (out != reduced(ranks, kElements)) return "wrong";
      if (combines != 0) return "more than one pass";
      if (auto other = test::other_than(kAlgorithm, "allreduce", comm); !other.empty())
        return other;
      const std::size_t part = kElements * sizeof(std::uint32_t) / static_cast<std::size_t>(ranks);
      return static_cast<std::size_t>(folds) >= part / (32 << 10) ? "right" : "all at once";
    };
    for (const auto& end : test::run_processes(ranks, {{"WEFT_VIEW", "cma"}}, body)) {
      EXPECT_EQ(end.said.find("right"), 0u) << ranks << " ranks: " << end.said;
    }
  }
}

}  // namespace
}  // namespace weft::folds_test
