// Calls that are made again with other buffers, by some ranks in the short way and by others anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "hierarchy/machine.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::repeat_test {
namespace {

using test::none;
using test::on;
using test::run_ranks;

constexpr int kRanks = 4;

/// What one rank knows of the last call of each collective.
struct Caller {
  Communicator& comm;
  Operation sum = operation(Operator::sum, Type::uint32);
  std::array<Communicator::Made, 2> made = {};  // of allgather and allreduce
  std::array<std::size_t, 2> elements = {};     // of these
  int repeated = 0;

  /// Element i of rank r in a round is r + i + round.
  void call(std::size_t which, std::size_t count, std::uint32_t round, bool may_repeat) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    std::vector<std::uint32_t> in(count), out(which == 0 ? count * ranks : count);
    for (std::size_t i = 0; i < count; ++i) in[i] = rank + static_cast<std::uint32_t>(i) + round;
    const bool is_known = may_repeat && elements[which] == count;
    if (is_known && comm.repeat(made[which], in.data(), out.data(), &sum)) {
      ++repeated;
    } else {
      if (which == 0) comm.allgather(in.data(), out.data(), count * sizeof in[0]);
      if (which == 1) comm.allreduce(in.data(), out.data(), count, sum);
      made[which] = comm.last_made();
      elements[which] = count;
    }
    const auto sum_of_ranks = static_cast<std::uint32_t>(ranks * (ranks - 1) / 2);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<std::uint32_t>(i % count) + round;
      const std::uint32_t right = which == 0
                                      ? static_cast<std::uint32_t>(i / count) + at
                                      : sum_of_ranks + static_cast<std::uint32_t>(ranks) * at;
      ASSERT_EQ(out[i], right) << "element " << i << " of round " << round;
    }
  }
};

TEST(Repeat, IsTheSameCallForThoseWhoMakeItAnew) {
  const auto errors = run_ranks(kRanks, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x4"));
    Caller caller{comm};
    std::mt19937 same(11), own(static_cast<unsigned>(rank));
    for (std::uint32_t round = 0; round < 600; ++round) {
      // Of one class and of others; mostly the one that was called last.
      const std::size_t counts[] = {1, 40, 50, 2000};
      const std::size_t which = same() % 2;
      const std::size_t count = same() % 8 == 0 || caller.elements[which] == 0
                                    ? counts[same() % 4]
                                    : caller.elements[which];
      ASSERT_NO_FATAL_FAILURE(caller.call(which, count, round, own() % 4 != 0));
    }
    EXPECT_GT(caller.repeated, 100);
  });
  EXPECT_EQ(errors, none(kRanks));
}

TEST(Repeat, IsRefusedWhereThereIsNoSuchCallAnyMore) {
  const auto errors = run_ranks(2, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x2"));
    EXPECT_EQ(comm.last_made().call, nullptr);
    EXPECT_FALSE(comm.repeat({}, nullptr, nullptr));
    std::vector<std::byte> in(4096), out(8192);
    // As many as are kept.
    for (std::size_t bytes = 1; bytes <= 256; ++bytes) {
      comm.allgather(in.data(), out.data(), bytes);
      EXPECT_NE(comm.last_made().call, nullptr);
    }
    const auto kept = comm.last_made();
    comm.allgather(in.data(), out.data(), 1000);
    const auto before = comm.last_made();
    // The next size of its class takes its program.
    comm.allgather(in.data(), out.data(), 990);
    EXPECT_FALSE(comm.repeat(before, in.data(), out.data()));
    EXPECT_TRUE(comm.repeat(comm.last_made(), in.data(), out.data()));
    EXPECT_TRUE(comm.repeat(kept, in.data(), out.data()));
  });
  EXPECT_EQ(errors, none(2));
}

TEST(Repeat, IsOfManySizesInTurns) {
  const auto errors = run_ranks(kRanks, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x4"));
    constexpr std::size_t kSizes = 30;
    const Operation sum = operation(Operator::sum, Type::uint32);
    std::array<std::array<Communicator::Made, kSizes + 1>, 2> made;
    std::vector<std::uint32_t> in(kSizes), out(kSizes * kRanks);
    for (std::uint32_t round = 0; round < 20; ++round) {
      for (std::size_t count = 1; count <= kSizes; ++count) {
        for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<std::uint32_t>(rank) + round;
        if (round == 0) {
          comm.allgather(in.data(), out.data(), count * sizeof in[0]);
          made[0][count] = comm.last_made();
          comm.allreduce(in.data(), out.data(), count, sum);
          made[1][count] = comm.last_made();
          continue;
        }
        ASSERT_TRUE(comm.repeat(made[0][count], in.data(), out.data()));
        for (std::size_t i = 0; i < count * kRanks; ++i) ASSERT_EQ(out[i], i / count + round);
        ASSERT_TRUE(comm.repeat(made[1][count], in.data(), out.data(), &sum));
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], 6 + kRanks * round);
      }
    }
  });
  EXPECT_EQ(errors, none(kRanks));
}

TEST(Repeat, CountsAsACall) {
  const auto errors = run_ranks(2, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), on("1x2"));
    std::vector<std::byte> in(64), out(128);
    comm.alltoall(in.data(), out.data(), 32);
    const auto made = comm.last_made();
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(comm.repeat(made, in.data(), out.data()));
    const auto entries = comm.statistics().entries;
    const auto found = std::ranges::find(entries, "alltoall", &Statistics::Entry::collective);
    ASSERT_NE(found, entries.end());
    EXPECT_EQ(found->calls, 10u);
    EXPECT_EQ(found->bytes, 640u);
  });
  EXPECT_EQ(errors, none(2));
}

}  // namespace
}  // namespace weft::repeat_test
