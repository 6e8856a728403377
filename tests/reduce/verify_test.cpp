#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/error.hpp"
#include "tests/reduce/support.hpp"
#include "tests/registry/variant_checks.hpp"

namespace weft::reduce::verify_test {
namespace {

using registry::flaws_of_any;
using registry::kSmallPlacements;
using registry::that_differ_anew;
using registry::wrong_names;
using Names = std::set<std::string>;

/// Each property draws machines; every draw is checked with every flat algorithm and some of the
/// schemes, all of which come up.
void check_variants(Collective collective, int most_ranks) {
  constexpr std::size_t kShare = 6;
  const auto machine = any_machine(most_ranks);
  const auto problem = any_problem(collective, machine.ranks());
  const auto first = *rc::gen::inRange<std::size_t>(0, kShare).as("first scheme");
  const auto all = variants(collective, machine.ranks(), kSegment);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_flat() && i % kShare != first) continue;
    const std::string flaws = flaws_of(all[i], problem, machine);
    if (!flaws.empty()) RC_FAIL(flaws);
  }
}

RC_GTEST_PROP(EveryVariant, OfReduceIsRightOnAnyMachine, ()) {
  check_variants(Collective::reduce, 20);
}
RC_GTEST_PROP(EveryVariant, OfAllreduceIsRightOnAnyMachine, ()) {
  check_variants(Collective::allreduce, 20);
}
RC_GTEST_PROP(EveryVariant, OfReduceScatterIsRightOnAnyMachine, ()) {
  check_variants(Collective::reduce_scatter, 20);
}
RC_GTEST_PROP(EveryVariant, OfScanIsRightOnAnyMachine, ()) {
  check_variants(Collective::scan, 20);
}
RC_GTEST_PROP(EveryVariant, OfExscanIsRightOnAnyMachine, ()) {
  check_variants(Collective::exscan, 20);
}

/// One variant on one machine, of more ranks.
void check_any_variant(int most_ranks) {
  const auto collective =
      *rc::gen::elementOf(std::vector<Collective>(std::begin(kReductions), std::end(kReductions)))
           .as("collective");
  const auto machine = any_machine(most_ranks);
  const auto problem = any_problem(collective, machine.ranks());
  const auto all = variants(collective, machine.ranks(), kSegment);
  const auto index = *rc::gen::inRange<std::size_t>(0, all.size()).as("variant");
  const std::string flaws = flaws_of(all[index], problem, machine);
  if (!flaws.empty()) RC_FAIL(flaws);
}

RC_GTEST_PROP(AnyVariant, IsRightOnALargerMachine, ()) {
  check_any_variant(60);
}

TEST(Algorithms, AreRightOn200Ranks) {
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < 200; ++rank) {
    node_of_rank.push_back(rank < 150 ? rank / 25 : 6 + rank % 3);
  }
  const hierarchy::Machine machine(node_of_rank);
  const std::vector<std::pair<Collective, std::vector<const char*>>> cases = {
      {Collective::reduce, {"binomial", "binary", "halving-doubling", "binary-blocks", "leader"}},
      {Collective::allreduce,
       {"recursive-doubling", "halving-doubling", "binary-blocks", "adaptive", "leader:leaders=8",
        "multi-doubling", "multi-bruck", "multi-ring"}},
      {Collective::reduce_scatter, {"recursive-halving", "recursive-doubling", "leader:leaders=8"}},
      {Collective::scan, {"doubling"}},
      {Collective::exscan, {"doubling"}}};
  for (const auto& [collective, names] : cases) {
    auto problem = problem_of(collective, 200, 2000, 8);
    if (collective == Collective::reduce_scatter) problem = problem_of(collective, 200, 8, 8);
    problem.root = 77;
    problem.associative = true;
    for (const char* name : names) {
      EXPECT_EQ(flaws_of(Algorithm::parse(collective, name), problem, machine), "");
    }
  }
}

TEST(EveryVariant, IsRightOnEverySmallPlacement) {
  for (const char* text : kSmallPlacements) {
    const auto machine = hierarchy::Machine::parse(text);
    for (const Collective collective : kReductions) {
      for (const bool commutative : {true, false}) {
        auto problem = problem_of(collective, machine.ranks(), 40, 8);
        problem.commutative = commutative;
        problem.associative = commutative;
        problem.root = machine.ranks() / 2;
        ASSERT_EQ(flaws_of_any(variants(collective, machine.ranks(), kSegment), problem, machine),
                  "");
      }
    }
  }
}

TEST(EveryVariant, OfReduceTakesEveryRoot) {
  for (int p = 1; p <= 13; ++p) {
    const auto machine = hierarchy::Machine::uniform(p, 1);
    for (const bool commutative : {true, false}) {
      auto problem = problem_of(Collective::reduce, p, 64, 8);
      problem.commutative = commutative;
      for (problem.root = 0; problem.root < p; ++problem.root) {
        for (const Algorithm& algorithm : variants(Collective::reduce, p, kSegment)) {
          if (!algorithm.is_flat()) continue;
          ASSERT_EQ(flaws_of(algorithm, problem, machine), "");
        }
      }
    }
  }
}

TEST(EveryVariant, HasItsNameOnce) {
  for (const Collective collective : kReductions) {
    for (const int ranks : {1, 2, 3, 5, 40}) EXPECT_EQ(wrong_names(collective, ranks), Names());
  }
}

RC_GTEST_PROP(EveryVariant, GivesTheSamePlanForTheSameArguments, ()) {
  const auto machine = any_machine(8);
  for (const Collective collective : kReductions) {
    const auto problem = any_problem(collective, machine.ranks());
    const auto all = variants(collective, machine.ranks(), kSegment);
    RC_ASSERT(that_differ_anew(all, problem, machine) == Names());
  }
}

RC_GTEST_PROP(EveryVariant, DoesNothingForEmptyVectors, ()) {
  const auto machine = any_machine(12);
  for (const Collective collective : kReductions) {
    auto problem = problem_of(collective, machine.ranks(), 0, 8);
    problem.associative = true;
    for (const Algorithm& algorithm : variants(collective, machine.ranks(), kSegment)) {
      if (algorithm.refusal(problem, machine)) continue;
      for (const auto& plan : plans_of(algorithm, problem, machine)) {
        RC_ASSERT(plan.ops().empty());
        RC_ASSERT(plan.stage_bytes() + plan.scratch_bytes() == 0u);
      }
    }
  }
}

TEST(EveryVariant, OnlyCopiesOnOneRank) {
  const auto machine = hierarchy::Machine::uniform(1, 1);
  for (const Collective collective : kReductions) {
    auto problem = problem_of(collective, 1, 96, 8);
    problem.associative = true;
    for (const Algorithm& algorithm : variants(collective, 1)) {
      const auto plan = algorithm.plan(problem, machine, 0);
      std::uint64_t copied = 0;
      for (const plan::Op& op : plan.ops()) {
        EXPECT_EQ(op.kind, plan::OpKind::copy) << algorithm.name();
        copied += op.dst.bytes();
      }
      const bool through_stage = !algorithm.is_flat() && copied == 2 * 96;  // multi-object schemes
      EXPECT_TRUE(copied == (collective == Collective::exscan ? 0u : 96u) || through_stage)
          << algorithm.name();
    }
  }
}

}  // namespace
}  // namespace weft::reduce::verify_test
