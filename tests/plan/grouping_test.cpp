// Grouping of results: the same on all ranks of a call, and for one placement and another.
#include "tests/plan/grouping_digest.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/builder.hpp"
#include "plan/verify/expressions.hpp"
#include "plan/verify/verify.hpp"
#include "tests/plan/random_slices.hpp"
#include "tests/plan/reduction_cases.hpp"

namespace weft::plan::testing::grouping_test {
namespace {

TEST(Expressions, AreEqualWhereTheirGroupingIs) {
  Expressions ordered(4, false);
  const auto ab = ordered.combine(0, 1);
  EXPECT_EQ(ordered.combine(0, 1), ab);
  EXPECT_NE(ordered.combine(1, 0), ab);
  const auto left = ordered.combine(ab, 2);
  const auto right = ordered.combine(0, ordered.combine(1, 2));
  EXPECT_NE(left, right);
  EXPECT_NE(ordered.digest(left), ordered.digest(right));
  EXPECT_EQ(ordered.operands(left), ordered.operands(right));
  EXPECT_EQ(ordered.ranks(ordered.operands(left)), (std::vector{0, 1, 2}));
  EXPECT_EQ(ordered.operands(left), ordered.operands_of(std::vector{0, 1, 2}));

  Expressions free(4, true);
  EXPECT_EQ(free.combine(1, 0), free.combine(0, 1));
  EXPECT_EQ(free.operands(free.combine(free.combine(2, 0), 1)),
            free.operands_of(std::vector{0, 1, 2}));
}

RC_GTEST_PROP(Expressions, HaveTheListsThatTheyWereMadeOf, (bool commutative)) {
  constexpr std::uint64_t kRanks = 12;
  Expressions expressions(kRanks, commutative);
  std::vector<std::vector<int>> lists;
  for (int rank = 0; rank < static_cast<int>(kRanks); ++rank) lists.push_back({rank});
  std::map<ExpressionId, std::vector<int>> known;
  std::vector<ExpressionId> ids(kRanks);
  for (ExpressionId rank = 0; rank < kRanks; ++rank) ids[rank] = rank;
  for (auto step = number(1, 30); step > 0; --step) {
    const auto a = number(0, lists.size() - 1);
    const auto b = number(0, lists.size() - 1);
    auto list = lists[a];
    list.insert(list.end(), lists[b].begin(), lists[b].end());
    if (commutative) std::ranges::sort(list);
    const auto id = expressions.combine(ids[a], ids[b]);
    RC_ASSERT(expressions.ranks(expressions.operands(id)) == list);
    RC_ASSERT(expressions.operands_of(list) == expressions.operands(id));
    lists.push_back(list);
    ids.push_back(id);
  }
}

Problem allreduce(int ranks) {
  Problem problem{Collective::allreduce, ranks, 8, 8};
  problem.element_bytes = 8;
  return problem;
}

/// Each rank adds up what it gets from the others in its own order.
Case rotated_allreduce(const Problem& problem) {
  Case made{"rotated", problem, even_nodes(problem.ranks, 1), {}};
  for (int self = 0; self < problem.ranks; ++self) {
    Builder plan(self, problem.ranks, problem.block_bytes, problem.block_bytes);
    const Slice input = Slice::contiguous(Space::input, self, 0, problem.block_bytes);
    const Slice sum = Slice::contiguous(Space::output, self, 0, problem.block_bytes);
    OpId last = plan.copy(sum, input);
    for (int step = 1; step < problem.ranks; ++step) {
      plan.send((self + problem.ranks - step) % problem.ranks, input);
      const Slice in = plan.allocate_scratch(problem.block_bytes);
      last =
          plan.reduce(sum, in, Operand::left, {last, plan.recv((self + step) % problem.ranks, in)});
    }
    made.plans.push_back(std::move(plan).finish());
  }
  return made;
}

TEST(Grouping, ThatDiffersBetweenRanksIsFound) {
  EXPECT_TRUE([] {
    const Case two = rotated_allreduce(allreduce(2));
    return verify(two.problem, two.node_of_rank, two.plans).empty();
  }()) << "a + b is b + a";
  Case three = rotated_allreduce(allreduce(3));
  const auto findings = verify(three.problem, three.node_of_rank, three.plans);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(to_string(findings[0]),
            "unequal: rank 1: output@1:0+8 is grouped otherwise than output@0:0+8");
  three.problem.associative = true;
  EXPECT_TRUE(verify(three.problem, three.node_of_rank, three.plans).empty());
}

TEST(Grouping, HasADigestThatTellsItApart) {
  const auto digest = [](const Case& plans) {
    return grouping_digest(plans.problem, plans.node_of_rank, plans.plans);
  };
  const auto problem = allreduce(6);
  const auto doubling = digest(doubling_allreduce(problem, even_nodes(6, 1)));
  EXPECT_EQ(digest(doubling_allreduce(problem, {0, 1, 0, 1, 2, 2})), doubling);
  const auto blocks = digest(node_allreduce(problem, even_nodes(2, 3)));
  EXPECT_NE(blocks, doubling);
  EXPECT_NE(digest(node_allreduce(problem, even_nodes(3, 2))), blocks);
}

TEST(Elements, AreNotCut) {
  const Problem problem = allreduce(2);
  const auto flaws = [&](std::uint64_t cut) {
    std::vector<Plan> plans;
    for (int self = 0; self < 2; ++self) {
      Builder plan(self, 2, 8, 8);
      plan.allocate_scratch(8);
      for (const auto& [begin, end] : {std::pair{std::uint64_t{0}, cut}, {cut, std::uint64_t{8}}}) {
        const auto part = [&](Space space) {
          return Slice::contiguous(space, self, begin, end - begin);
        };
        plan.send(1 - self, part(Space::input));
        const OpId received = plan.recv(1 - self, part(Space::scratch));
        const OpId copied = plan.copy(part(Space::output), part(Space::input));
        plan.reduce(part(Space::output), part(Space::scratch), Operand::left, {received, copied});
      }
      plans.push_back(std::move(plan).finish());
    }
    return verify(problem, std::vector{0, 1}, plans);
  };
  EXPECT_TRUE(flaws(0).empty());
  const auto findings = flaws(4);
  ASSERT_FALSE(findings.empty());
  for (const Finding& finding : findings) EXPECT_EQ(finding.flaw, Flaw::element);
  EXPECT_NE(to_string(findings[0]).find("is not of whole elements of 8 bytes"), std::string::npos);
}

}  // namespace
}  // namespace weft::plan::testing::grouping_test
