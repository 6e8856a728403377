// Fragments on teams that no algorithm of the tables makes.
#include "gather/flat/algorithms.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gather/flat/team_of_all.hpp"
#include "gather/flat/team_segments.hpp"
#include "tests/gather/support.hpp"

namespace weft::gather::fragments_test {
namespace {

Arrived bruck_of_3(plan::Builder& builder, const Team& team) {
  return bruck_allgather(builder, team, 3);
}

Arrived to_first_and_back(plan::Builder& builder, const Team& team) {
  return gather_broadcast(builder, team, binary_tree);
}

// After the scatter, members hold more than their own part: any allgather must leave that out.
RC_GTEST_PROP(Fragments, AllgathersSendNothingThatAMemberHolds, ()) {
  const auto machine = any_machine(24);
  const auto problem = any_problem(Collective::broadcast, machine.ranks());
  for (const Allgather allgather :
       {ring_allgather, doubling_allgather, neighbor_allgather, bruck_of_3}) {
    std::vector<plan::Plan> plans;
    std::uint64_t sent = 0;
    for (int rank = 0; rank < machine.ranks(); ++rank) {
      plan::Builder builder(rank, machine.ranks(), problem.input_bytes(rank),
                            problem.output_bytes(rank));
      scatter_allgather(builder, team_of_all(problem, rank), allgather);
      plans.push_back(std::move(builder).finish());
      for (const plan::Op& op : plans.back().ops()) {
        if (op.kind == plan::OpKind::send) sent += op.src.bytes();
      }
    }
    RC_ASSERT(plan::verify(problem, machine.node_of_rank(), plans).empty());
    RC_ASSERT(sent == static_cast<std::uint64_t>(machine.ranks() - 1) * problem.block_bytes);
  }
}

// Members need not be in the order of their ranks.
RC_GTEST_PROP(Fragments, WorkWithMembersInAnyOrder, ()) {
  const auto machine = Machine::uniform(1, *rc::gen::inRange(1, 20).as("ranks"));
  const int ranks = machine.ranks();
  const plan::Problem problem{Collective::allgather, ranks, 16, 16};
  for (const Allgather allgather :
       {ring_allgather, doubling_allgather, neighbor_allgather, bruck_of_3, to_first_and_back}) {
    std::vector<plan::Plan> plans;
    for (int rank = 0; rank < ranks; ++rank) {
      plan::Builder builder(rank, ranks, problem.input_bytes(rank), problem.output_bytes(rank));
      Team team = team_of_all(problem, rank);
      std::ranges::reverse(team.members);
      team.self = ranks - 1 - rank;
      const auto rank_of = [ranks](int member) { return ranks - 1 - member; };
      team.source = [&](int member, int) { return at(plan::Space::input, rank_of(member), 0, 16); };
      team.target = [&](int member, int block) {
        return at(plan::Space::output, rank_of(member),
                  static_cast<std::uint64_t>(rank_of(block)) * 16, 16);
      };
      allgather(builder, team);
      plans.push_back(std::move(builder).finish());
    }
    const auto findings = plan::verify(problem, machine.node_of_rank(), plans);
    if (!findings.empty()) RC_FAIL(to_string(findings.front()));
  }
}

TEST(Segments, CutSlicesAnywhere) {
  const auto all = Slices{plan::Slice::contiguous(plan::Space::output, 1, 10, 4),
                          plan::Slice::strided(plan::Space::output, 1, 20, 2, 3, 5)};
  EXPECT_EQ(cut(all, 0, 10), all);
  EXPECT_TRUE(cut(all, 3, 3).empty());
  EXPECT_EQ(cut(all, 3, 6), (Slices{plan::Slice::contiguous(plan::Space::output, 1, 13, 1),
                                    plan::Slice::contiguous(plan::Space::output, 1, 20, 2)}));
  EXPECT_TRUE(cut(all, 10, 20).empty());
}

}  // namespace
}  // namespace weft::gather::fragments_test
