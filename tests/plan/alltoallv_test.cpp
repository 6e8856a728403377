// The contract of alltoallv and of alltoalls in place, and what a problem of them must be.
#include <gtest/gtest.h>

#include "plan/builder.hpp"
#include "plan/verify/contract.hpp"
#include "plan/verify/verify.hpp"
#include "tests/plan/draft.hpp"
#include "tests/plan/vector_cases.hpp"

namespace weft::plan::testing::alltoallv_test {
namespace {

/// Two ranks: 0 sends 3 bytes to itself and 5 to 1; 1 sends 2 to 0 and none to itself.
Problem two_ranks() {
  Problem problem{Collective::alltoallv, 2};
  problem.sends = {{{10, 3}, {0, 5}}, {{4, 2}, {0, 0}}};
  problem.receives = {{{7, 3}, {1, 2}}, {{20, 5}, {99, 0}}};
  return problem;
}

TEST(Alltoallv, PutsEachBlockWhereItIsReceived) {
  const Problem problem = two_ranks();
  const auto expected = contract(problem, 0);
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(expected[0].offset, 1u);
  EXPECT_EQ(expected[0].bytes, 2u);
  EXPECT_EQ(expected[0].origin_offset, 4u);
  EXPECT_EQ(expected[0].origins, std::vector{1});
  EXPECT_EQ(expected[1].offset, 7u);
  EXPECT_EQ(expected[1].origin_offset, 10u);
  ASSERT_EQ(contract(problem, 1).size(), 1u);
  EXPECT_EQ(problem.input_bytes(0), 13u);
  EXPECT_EQ(problem.output_bytes(0), 10u);
  EXPECT_EQ(problem.output_bytes(1), 25u);  // blocks of no bytes take no room
}

TEST(Alltoallv, InPlaceSendsFromWhereItReceives) {
  Problem problem{Collective::alltoallv, 2};
  problem.in_place = true;
  problem.receives = {{{0, 1}, {4, 6}}, {{10, 6}, {0, 2}}};
  const auto expected = contract(problem, 0);
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(expected[1].offset, 4u);
  EXPECT_EQ(expected[1].origin_offset, 10u);
  EXPECT_EQ(problem.input_bytes(0), 0u);
  Problem constant = Problem::alltoall(3, 8);
  constant.in_place = true;
  EXPECT_EQ(contract(constant, 2)[1].origin_offset, 16u);
  EXPECT_EQ(constant.input_bytes(1), 0u);
  EXPECT_EQ(constant.output_bytes(1), 24u);
}

std::string flaw_of(const Problem& problem) {
  const std::vector<int> nodes(static_cast<std::size_t>(problem.ranks));
  const auto findings = verify(problem, nodes, std::vector<Plan>());
  return findings.empty() ? "" : to_string(findings.front());
}

TEST(Alltoallv, OfRowsThatDoNotFitIsRefused) {
  const auto broken = [](const auto& change) {
    Problem problem = two_ranks();
    change(problem);
    return flaw_of(problem);
  };
  EXPECT_EQ(broken([](Problem& p) { p.sends[1][0].bytes = 3; }),
            "shape: rank 1 sends 3 bytes to rank 0, which receives 2");
  EXPECT_EQ(broken([](Problem& p) { p.receives[0][1].offset = 6; }),
            "shape: blocks of rank 0's receives overlap at byte 7");
  EXPECT_EQ(broken([](Problem& p) { p.sends[1].pop_back(); }),
            "shape: expected rows of sends and of receives of 2 blocks for 2 ranks");
  EXPECT_EQ(broken([](Problem& p) { p.receives.pop_back(); }),
            "shape: expected rows of sends and of receives of 2 blocks for 2 ranks");
  EXPECT_EQ(broken([](Problem& p) { p.in_place = true; }),
            "shape: expected rows of receives, none of sends, of 2 blocks for 2 ranks");
  EXPECT_EQ(broken([](Problem& p) { p.sends[0][1].offset = 1ull << 63; }),
            "shape: a block at 9223372036854775808 of 5 bytes passes 2^62");
  EXPECT_EQ(broken([](Problem& p) { p.collective = Collective::alltoall; }),
            "shape: alltoall with blocks for pairs of ranks: only alltoallv");
  EXPECT_EQ(broken([](Problem& p) {
              p = {Collective::broadcast, 2, 8, 8}, p.in_place = true;
            }),
            "shape: broadcast in place: only alltoall and alltoallv");
  EXPECT_EQ(broken([](Problem& p) { p.sends[0][1].offset = 12; }).rfind("shape: 0 plans", 0), 0u)
      << "what is sent may overlap";
}

TEST(Alltoallv, InPlaceWhatNothingReplacesIsLeftAlone) {
  // One rank writes its own bytes back one further: outside of blocks that is a flaw.
  Problem problem{Collective::alltoallv, 1};
  problem.in_place = true;
  problem.receives = {{{0, 4}}};
  const auto found = [&](std::uint64_t to) {
    Builder plan(0, 1, 0, 16);
    const Slice held = plan.allocate_scratch(4);
    plan.copy(Slice::contiguous(Space::output, 0, to, 4), held,
              plan.copy(held, Slice::contiguous(Space::output, 0, 8, 4)));
    const std::vector<Plan> plans = {std::move(plan).finish()};
    const auto findings = verify(problem, std::vector<int>{0}, plans);
    return findings.empty() ? std::string() : to_string(findings.front());
  };
  EXPECT_EQ(found(8), "");
  EXPECT_EQ(found(9), "delivery: rank 0: output@0:9+4 was written, expected to be left alone");
  EXPECT_EQ(found(0),
            "delivery: rank 0: output@0:0+4 holds what began as output@0:8+4, expected "
            "what began as output@0:0+4");
}

}  // namespace
}  // namespace weft::plan::testing::alltoallv_test
