#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "registry/all_algorithms.hpp"
#include "tests/plan/grouping_digest.hpp"
#include "tests/reduce/support.hpp"

namespace weft::reduce::registry_test {
namespace {

std::string parse_error(Collective collective, std::string_view text) {
  return error_of([&] { Algorithm::parse(collective, text); });
}

TEST(Registry, ReadsNamesAndParameters) {
  const auto chain = Algorithm::parse(Collective::reduce, "chain:segment=8K");
  EXPECT_EQ(chain.parameters().segment, 8192u);
  EXPECT_EQ(chain.name(), "chain:segment=8192");
  const auto leader = Algorithm::parse(Collective::allreduce,
                                       "leader:leaders=2,between=ring,segment=64,direct=yes");
  EXPECT_EQ(leader.name(), "leader:leaders=2,direct=1,between=ring,segment=64");
  EXPECT_EQ(Algorithm::parse(Collective::allreduce, "leader:between=recursive-doubling"),
            Algorithm::parse(Collective::allreduce, "leader"));
  EXPECT_EQ(Algorithm::parse(Collective::scan, "leader:leaders=all").name(), "leader:leaders=all");
  EXPECT_EQ(Algorithm::parse(Collective::allreduce, "adaptive:latency=1K").name(),
            "adaptive:latency=1024");
}

TEST(Registry, NamesWhatIsUnknown) {
  EXPECT_EQ(parse_error(Collective::scan, "ring"),
            "algorithm 'ring' for scan: not one of doubling, chain, leader");
  EXPECT_EQ(parse_error(Collective::reduce, "binomial:segment=1"),
            "algorithm 'binomial:segment=1': parameter 'segment' is not one of its own (it has "
            "none)");
  EXPECT_EQ(parse_error(Collective::reduce, "leader:segment=1"),
            "algorithm 'leader:segment=1': parameter 'segment' is not one of its own (leaders, "
            "direct, between, segment with between=chain or binary or ring)");
  EXPECT_EQ(parse_error(Collective::reduce, "leader:latency=1"),
            "algorithm 'leader:latency=1': parameter 'latency' is not one of its own (leaders, "
            "direct, between, segment with between=chain or binary or ring)");
  EXPECT_EQ(parse_error(Collective::reduce_scatter, "leader:between=binomial"),
            "algorithm 'leader:between=binomial': between=binomial: not one of pairwise, "
            "recursive-halving, recursive-doubling, ring, bine");
  EXPECT_EQ(parse_error(Collective::allreduce, "multi-ring:leaders=2"),
            "algorithm 'multi-ring:leaders=2': parameter 'leaders' is not one of its own (direct)");
  EXPECT_EQ(parse_error(Collective::allreduce, "leader:direct"),
            "algorithm 'leader:direct': 'direct' is not of the form parameter=value");
  EXPECT_EQ(parse_error(Collective::allreduce, "leader:direct=1,direct=0"),
            "algorithm 'leader:direct=1,direct=0': parameter 'direct' is there twice");
}

TEST(Registry, RefusesAProblemThatIsNotForTheMachine) {
  const auto machine = hierarchy::Machine::uniform(2, 2);
  const auto algorithm = Algorithm::parse(Collective::reduce, "binomial");
  const auto error = [&](const plan::Problem& problem, int rank) {
    return error_of([&] { algorithm.plan(problem, machine, rank); });
  };
  auto problem = problem_of(Collective::reduce, 4, 16, 8);
  EXPECT_EQ(error(problem, 0), "no error");
  EXPECT_EQ(error(problem, 4), "reduce of 4 ranks: rank 4 is not from 0 to 3");
  problem.root = 4;
  EXPECT_EQ(error(problem, 0), "reduce of 4 ranks: root 4 is not from 0 to 3");
  EXPECT_EQ(error(problem_of(Collective::reduce, 5, 16, 8), 0),
            "reduce of 5 ranks on a machine of 4: they must be equal");
  EXPECT_EQ(error(problem_of(Collective::scan, 4, 16, 8), 0),
            "an algorithm for reduce asked for scan");
  EXPECT_EQ(error(problem_of(Collective::reduce, 4, 20, 8), 0),
            "reduce of blocks of 20 bytes, 20 apart, of elements of 8: blocks must be of whole "
            "elements");
}

TEST(Registry, RefusesWhatWouldGiveAnotherResult) {
  const auto blocks = hierarchy::Machine::uniform(2, 2);
  const auto cyclic = hierarchy::Machine::cyclic(2, 2);
  const auto error = [](Collective collective, const char* name, bool commutative,
                        const hierarchy::Machine& machine) {
    auto problem = problem_of(collective, 4, 16, 8);
    problem.commutative = commutative;
    return error_of([&] { Algorithm::parse(collective, name).plan(problem, machine, 0); });
  };
  EXPECT_EQ(error(Collective::allreduce, "neighbour-ring", true, blocks), "no error");
  EXPECT_EQ(error(Collective::allreduce, "neighbour-ring", false, blocks),
            "allreduce neighbour-ring does not keep the order of the ranks, and the operation does "
            "not commute");
  EXPECT_EQ(error(Collective::allreduce, "leader", false, blocks), "no error");
  EXPECT_EQ(error(Collective::allreduce, "leader", true, cyclic), "no error");
  EXPECT_EQ(
      error(Collective::allreduce, "leader", false, cyclic),
      "allreduce leader keeps the order of the ranks only where those of each node follow one "
      "another, not on 0,1,0,1");
  EXPECT_EQ(error(Collective::scan, "leader", true, cyclic),
            "scan leader keeps the order of the ranks only where those of each node follow one "
            "another, not on 0,1,0,1");
  EXPECT_EQ(
      error(Collective::allreduce, "multi-bruck", true, blocks),
      "allreduce multi-bruck groups the operands otherwise on each node, and the operation is "
      "not associative to the bit");
}

/// What is said not to keep the order does not: the flag is no mere caution.
TEST(Order, IsLostWhereTheRegistrySaysSo) {
  const auto machine = hierarchy::Machine::uniform(4, 1);
  int unordered = 0;
  for (const Collective collective : kReductions) {
    for (const auto* flat : registry::flat_algorithms(collective)) {
      const auto algorithm = Algorithm::parse(collective, flat->name);
      if (algorithm.keeps_order()) continue;
      ++unordered;
      auto problem = problem_of(collective, 4, 32, 8);
      const auto plans = plans_of(algorithm, problem, machine);
      EXPECT_TRUE(plan::verify(problem, machine.node_of_rank(), plans).empty()) << flat->name;
      problem.commutative = false;
      EXPECT_FALSE(plan::verify(problem, machine.node_of_rank(), plans).empty()) << flat->name;
    }
  }
  EXPECT_EQ(unordered, 6);
}

/// multi-bruck groups by node: without the exactness it asks for, nodes would differ.
TEST(Grouping, OfMultiBruckDiffersBetweenNodes) {
  const auto machine = hierarchy::Machine::uniform(4, 2);
  auto problem = problem_of(Collective::allreduce, 8, 32, 8);
  problem.associative = true;
  const auto plans =
      plans_of(Algorithm::parse(Collective::allreduce, "multi-bruck"), problem, machine);
  EXPECT_TRUE(plan::verify(problem, machine.node_of_rank(), plans).empty());
  problem.associative = false;
  const auto findings = plan::verify(problem, machine.node_of_rank(), plans);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().flaw, plan::Flaw::unequal);
}

/// Deterministic: where the ranks are makes no difference to any bit.
RC_GTEST_PROP(Grouping, IsTheSameForEveryPlacementWhereTheRegistrySaysSo, ()) {
  const auto machine = any_machine(16);
  const auto other =
      hierarchy::Machine(*rc::gen::exec([&] {
                            auto nodes = *rc::gen::container<std::vector<int>>(
                                static_cast<std::size_t>(machine.ranks()), rc::gen::inRange(0, 3));
                            for (int node = 0; node < 3; ++node) nodes.push_back(node);
                            std::vector<int> number(3, -1);
                            int seen = 0;
                            nodes.resize(static_cast<std::size_t>(machine.ranks()));
                            for (int& node : nodes) {
                              if (number[static_cast<std::size_t>(node)] < 0) {
                                number[static_cast<std::size_t>(node)] = seen++;
                              }
                              node = number[static_cast<std::size_t>(node)];
                            }
                            return nodes;
                          }).as("other placement"));
  for (const Collective collective : kReductions) {
    const auto problem = any_problem(collective, machine.ranks());
    const auto digest = [&](const Algorithm& algorithm, const hierarchy::Machine& there) {
      const auto plans = plans_of(algorithm, problem, there);
      return plan::grouping_digest(problem, there.node_of_rank(), plans);
    };
    for (const Algorithm& algorithm : variants(collective, machine.ranks(), kSegment)) {
      if (!algorithm.groups_alike_everywhere()) continue;
      if (algorithm.refusal(problem, machine)) continue;
      RC_ASSERT(digest(algorithm, machine) == digest(algorithm, other));
    }
  }
}

TEST(Grouping, OfSchemesDependsOnThePlacement) {
  const auto problem = problem_of(Collective::allreduce, 6, 48, 8);
  const auto algorithm = Algorithm::parse(Collective::allreduce, "leader");
  const auto digest = [&](const char* text) {
    const auto machine = hierarchy::Machine::parse(text);
    return plan::grouping_digest(problem, machine.node_of_rank(),
                                 plans_of(algorithm, problem, machine));
  };
  EXPECT_NE(digest("2x3"), digest("3x2"));
  EXPECT_FALSE(algorithm.groups_alike_everywhere());
}

}  // namespace
}  // namespace weft::reduce::registry_test
