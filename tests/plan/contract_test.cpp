#include "plan/contract.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace weft::plan {
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
  EXPECT_EQ(expected.back().offset + expected.back().bytes, problem.buffer_bytes());
}

TEST(Contract, OfNoBytesExpectsNothing) {
  EXPECT_TRUE(contract(Problem::alltoall(4, 0), 1).empty());
  EXPECT_EQ(Problem::alltoall(4, 0).buffer_bytes(), 0u);
}

TEST(Problem, NamesCollectives) {
  EXPECT_EQ(parse_collective(to_string(Collective::alltoall)), Collective::alltoall);
  try {
    parse_collective("alltoal");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "collective 'alltoal': there is only alltoall");
  }
}

}  // namespace
}  // namespace weft::plan
