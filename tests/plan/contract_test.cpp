#include "plan/verify/contract.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace weft::plan::contract_test {
namespace {

TEST(Contract, AlltoallGivesEachRankItsBlockOfEachOther) {
  const Problem problem{Collective::alltoall, 3, 8, 10};
  const auto expected = contract(problem, 2);
  ASSERT_EQ(expected.size(), 3u);
  for (int origin = 0; origin < 3; ++origin) {
    const auto& block = expected[static_cast<std::size_t>(origin)];
    EXPECT_EQ(block.offset, static_cast<std::uint64_t>(origin) * 10);
    EXPECT_EQ(block.bytes, 8u);
    EXPECT_EQ(block.origin_offset, 20u);
    EXPECT_EQ(block.origins, std::vector{origin});
  }
  EXPECT_EQ(expected.back().offset + expected.back().bytes, problem.output_bytes(2));
}

TEST(Contract, OfNoBytesExpectsNothing) {
  EXPECT_TRUE(contract(Problem::alltoall(4, 0), 1).empty());
  EXPECT_EQ(Problem::alltoall(4, 0).output_bytes(1), 0u);
}

TEST(Contract, CoversJustTheOutputOfEachCollective) {
  for (const Collective collective : all_collectives()) {
    Problem problem{collective, 5, 8, 8, 3, 8};
    if (collective == Collective::alltoallv) {
      std::vector<Block> row;
      for (std::uint64_t peer = 0; peer < 5; ++peer) row.push_back({peer * 8, 8});
      problem.sends = problem.receives = std::vector<std::vector<Block>>(5, row);
    }
    for (int rank = 0; rank < problem.ranks; ++rank) {
      std::uint64_t bytes = 0;
      for (const Expectation& expected : contract(problem, rank)) {
        EXPECT_EQ(expected.offset, bytes);
        bytes += expected.bytes;
        for (const int origin : expected.origins) {
          EXPECT_LE(expected.origin_offset + expected.bytes, problem.input_bytes(origin));
        }
      }
      EXPECT_EQ(bytes, problem.output_bytes(rank)) << to_string(collective) << " rank " << rank;
    }
  }
}

TEST(Contract, OfALayoutIsByAscendingOffset) {
  Problem problem{Collective::allgather, 3};
  problem.layout = {{20, 4}, {0, 0}, {5, 10}};
  const auto expected = contract(problem, 1);
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(expected[0].offset, 5u);
  EXPECT_EQ(expected[0].origins, std::vector{2});
  EXPECT_EQ(expected[1].offset, 20u);
  EXPECT_EQ(problem.output_bytes(0), 24u);
  EXPECT_EQ(problem.input_bytes(2), 10u);
}

TEST(Contract, OfAScanHasTheRanksUpToOnesOwnInOrder) {
  EXPECT_EQ(contract({Collective::scan, 4, 8, 8}, 2).front().origins, (std::vector{0, 1, 2}));
  EXPECT_EQ(contract({Collective::exscan, 4, 8, 8}, 2).front().origins, (std::vector{0, 1}));
  EXPECT_TRUE(contract({Collective::exscan, 4, 8, 8}, 0).empty());
}

TEST(Problem, NamesCollectives) {
  for (const Collective collective : all_collectives()) {
    EXPECT_EQ(parse_collective(to_string(collective)), collective);
  }
  try {
    parse_collective("alltoal");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "collective 'alltoal': there are alltoall, broadcast, scatter, gather, allgather, "
                 "barrier, reduce, allreduce, reduce_scatter, scan, exscan, alltoallv");
  }
}

}  // namespace
}  // namespace weft::plan::contract_test
