#include "tune/simulated_choice.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"
#include "nic_profiles/profile.hpp"
#include "registry/all_algorithms.hpp"
#include "tests/hierarchy/any_machine.hpp"
#include "tests/nic_profiles/any_adapter.hpp"
#include "tests/tune/any_problem.hpp"
#include "tune/bound.hpp"
#include "tune/candidates.hpp"

namespace weft::tune::simulated_choice_test {
namespace {

Direct any_direct() {
  return *rc::gen::element(Direct::none, Direct::calls, Direct::loads, Direct::loads_of_long);
}

RC_GTEST_PROP(Candidates, AreAllOfTheRegistryThatMayRun, ()) {
  const auto machine = hierarchy::any_machine(20);
  const plan::Problem problem = any_problem(machine.ranks());
  const Facts facts{machine, any_direct()};
  const auto list = candidates(problem, facts);
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(list, [&](const Algorithm& one) { return one.base_name() == name; });
  };
  for (const Algorithm& one : list) RC_ASSERT(may_run(one, problem, facts));
  for (const auto* one : registry::flat_algorithms(problem.collective)) {
    const auto name = one->name;
    const auto algorithm = Algorithm::parse(problem.collective, name);
    RC_ASSERT(has(name) == may_run(algorithm, problem, facts));
  }
  for (const auto* one : registry::schemes(problem.collective)) {
    const auto name = one->name;
    const auto algorithm = Algorithm::parse(problem.collective, name);
    const bool makes_a_difference =
        machine.widest() > 1 && (name != "two-step" || machine.has_domains());
    RC_ASSERT(has(name) == (makes_a_difference && may_run(algorithm, problem, facts)));
  }
}

TEST(Candidates, OfThousandsOfRanksHaveNoPartsOfAFewBytes) {
  const Facts facts{hierarchy::Machine::uniform(16, 64)};
  plan::Problem problem;
  problem.collective = plan::Collective::broadcast;
  problem.ranks = facts.machine.ranks();
  const auto by_parts = [&](std::uint64_t bytes) {
    const auto list = candidates(resized(problem, bytes), facts);
    return std::ranges::count_if(list, [](const Algorithm& one) {
      return one.base_name() == "scatter-ring" || one.base_name() == "scatter-doubling";
    });
  };
  EXPECT_EQ(by_parts(63 * 1024), 0);
  EXPECT_EQ(by_parts(64 * 1024), 2);
}

// Two algorithms that each group alike everywhere still group differently from each other.
RC_GTEST_PROP(Candidates, OfDeterministicReductionsDependOnTheProblemAlone, ()) {
  const auto machine = hierarchy::any_machine(20);
  const auto other = hierarchy::Machine::uniform(1, machine.ranks());
  const plan::Problem problem = any_problem(machine.ranks());
  const auto list = candidates(problem, {machine, any_direct(), true});
  if (!is_reduction(problem.collective) || problem.associative) return;
  RC_ASSERT(list.size() == 1u);
  RC_ASSERT(list.front().groups_alike_everywhere());
  RC_ASSERT(list.front().name() == candidates(problem, {other, any_direct(), true}).front().name());
}

// A rank does not know the sizes of blocks that it would pass on, nor what slots for them would
// gain.
RC_GTEST_PROP(Candidates, OfAlltoallvPassOnNoBlocksOfOtherRanks, ()) {
  const auto machine = hierarchy::any_machine(20);
  plan::Problem problem = plan::Problem::alltoall(machine.ranks(), 8);
  const Facts facts{machine, any_direct(), *rc::gen::arbitrary<bool>()};
  const auto passes_on = [](const Algorithm& one) {
    return one.name().find("bruck") != std::string::npos;
  };
  RC_ASSERT(std::ranges::any_of(candidates(problem, facts), passes_on));
  problem.collective = plan::Collective::alltoallv;
  RC_ASSERT(!candidates(problem, facts).empty());
  RC_ASSERT(std::ranges::none_of(candidates(problem, facts), passes_on));
}

TEST(Candidates, ReadLargeBlocksInPlace) {
  const auto machine = hierarchy::Machine::uniform(2, 4);
  const auto least = [&](plan::Collective collective, Direct direct, bool crowded) {
    const Facts facts{machine, direct, false, crowded};
    std::uint64_t bytes = 1;
    while (bytes < 1 << 30 && !reads_in_place({collective, 8, bytes, bytes}, facts)) bytes *= 2;
    return bytes;
  };
  using plan::Collective;
  for (const Collective collective :
       {Collective::alltoall, Collective::reduce, Collective::broadcast}) {
    const bool waits_anyway = collective != Collective::broadcast;
    for (const bool crowded : {false, true}) {
      EXPECT_EQ(least(collective, Direct::none, crowded), 1u << 30);
      EXPECT_EQ(least(collective, Direct::calls, crowded), 1u << 30);
      EXPECT_EQ(least(collective, Direct::loads, crowded),
                crowded && !waits_anyway ? 16u << 10 : 2u << 10);
    }
  }
}

TEST(Candidates, BySocketsAreForMachinesWithSockets) {
  const auto has = [](plan::Collective collective, const char* text, std::string_view name) {
    const auto machine = hierarchy::Machine::parse(text);
    const plan::Problem problem{collective, machine.ranks(), 64, 64};
    const auto list = candidates(problem, Facts{machine});
    return std::ranges::find(list, name, &Algorithm::name) != list.end();
  };
  for (const plan::Collective collective : plan::all_collectives()) {
    if (collective == plan::Collective::alltoallv) continue;
    const bool leads = collective != plan::Collective::barrier;
    EXPECT_FALSE(has(collective, "2x8", "leader:leaders=sockets")) << to_string(collective);
    EXPECT_EQ(has(collective, "2x2x4", "leader:leaders=sockets"), leads) << to_string(collective);
  }
  EXPECT_FALSE(has(plan::Collective::alltoall, "2x8", "two-step"));
  EXPECT_TRUE(has(plan::Collective::alltoall, "2x2x4", "two-step"));
  EXPECT_TRUE(has(plan::Collective::alltoall, "2x2x4", "two-step:between=bruck"));
}

RC_GTEST_PROP(Bound, IsNeverAboveTheSimulation, ()) {
  const auto machine = hierarchy::any_machine(20);
  const plan::Problem problem = any_problem(machine.ranks());
  const Facts facts{machine, any_direct(), false};
  sim::Hardware hardware = (*nic_profiles::any_adapter()).hardware;
  hardware.rails = *rc::gen::inRange(1, 4);
  const auto list = candidates(problem, facts);
  const Algorithm& algorithm = list[*rc::gen::inRange<std::size_t>(0, list.size())];
  RC_LOG() << algorithm.name() << " " << to_string(problem.collective) << " " << problem.block_bytes
           << " on " << to_string(machine);
  const auto plan_of = [&](int rank) { return algorithm.plan(problem, machine, rank); };
  const auto result = sim::simulate(plan_of, machine, hardware);
  // The simulator counts whole picoseconds.
  RC_ASSERT(bound(algorithm, problem, machine, hardware).time_ns <= result.time_ns * 1.001 + 1);
}

// On large machines those whose likely time is above the best one are not simulated.
RC_GTEST_PROP(Bound, OfFewRanksIsHardlyEverAboveTheBestAlgorithmsTime, ()) {
  const int ranks_on_node = *rc::gen::element(6, 8, 12, 16, 24);
  const auto machine = hierarchy::Machine::uniform(*rc::gen::element(4, 6, 8), ranks_on_node);
  const plan::Problem problem = any_problem(machine.ranks());
  const Facts facts{machine, any_direct(), false};
  sim::Hardware hardware = (*nic_profiles::any_adapter()).hardware;
  hardware.rails = *rc::gen::inRange(1, 4);
  const auto best = choose(problem, facts, hardware).front();
  const double likely_ns = bound(best.algorithm, problem, machine, hardware, 4).likely_ns;
  RC_LOG() << best.algorithm.name() << " " << to_string(problem.collective) << " of "
           << problem.block_bytes << " on " << to_string(machine) << ", " << hardware.rails
           << " rails: likely " << likely_ns << ", simulated " << best.time_ns << "\n";
  RC_ASSERT(likely_ns <= 1.001 * best.time_ns + 1);
}

RC_GTEST_PROP(Choice, SkipsOnlyCandidatesThatCannotBeBest, ()) {
  const auto machine = hierarchy::any_machine(16);
  const plan::Problem problem = any_problem(machine.ranks());
  const Facts facts{machine, Direct::none, *rc::gen::arbitrary<bool>()};
  const sim::Hardware hardware = (*nic_profiles::any_adapter()).hardware;
  const auto all = choose(problem, facts, hardware, {.exhaustive = true});
  const auto some = choose(problem, facts, hardware);
  RC_ASSERT(std::ranges::all_of(all, &Prediction::simulated));
  RC_ASSERT(std::ranges::is_sorted(all, {}, &Prediction::time_ns));
  RC_ASSERT(some.size() == all.size());
  // The simulator counts in whole picoseconds: a time may be below its bound by their rounding. So
  // one that is faster than the choice was skipped, as its bound is not.
  for (const Prediction& one : all) {
    RC_ASSERT(one.bound_ns <= one.time_ns * 1.001 + 1);
    RC_ASSERT(one.time_ns >= some.front().time_ns || one.bound_ns >= some.front().time_ns);
  }
}

TEST(Choice, CountsSharedCoresForAlltoallAlone) {
  const auto machine = hierarchy::Machine::uniform(2, 2);
  sim::Hardware alone = nic_profiles::load("soft").hardware;
  sim::Hardware shared = alone;
  shared.host = {2, 2, 1300};
  const auto time_ns = [&](plan::Collective collective, const sim::Hardware& hardware) {
    return choose({collective, 4, 64, 64}, Facts{machine}, hardware).front().time_ns;
  };
  for (const plan::Collective collective : plan::all_collectives()) {
    if (collective == plan::Collective::alltoallv) continue;
    if (is_alltoall(collective)) {
      EXPECT_GT(time_ns(collective, shared), 1.5 * time_ns(collective, alone));
    } else {
      EXPECT_EQ(time_ns(collective, shared), time_ns(collective, alone)) << to_string(collective);
    }
  }
}

TEST(Choice, KeepsToItsBudget) {
  const auto machine = hierarchy::Machine::uniform(8, 4);
  const Facts facts{machine};
  const auto problem = plan::Problem::alltoall(32, 512);
  const sim::Hardware hardware = nic_profiles::load("mt25208").hardware;
  for (const std::uint64_t most : {0, 3000, 20000}) {
    std::uint64_t spent = 0;
    const auto list = choose(problem, facts, hardware, {.most_ops = most, .exhaustive = true});
    for (const Prediction& one : list) {
      if (one.simulated) spent += bound(one.algorithm, problem, machine, hardware).ops;
      EXPECT_GE(one.time_ns, one.bound_ns);
    }
    EXPECT_LE(spent, most);
    EXPECT_EQ(spent > 0, most > 0);
  }
}

TEST(Choice, ReportsItsProgress) {
  const auto machine = hierarchy::Machine::uniform(2, 2);
  std::vector<int> seen;
  int total = 0;
  ChoiceOptions options;
  options.progress = [&](int done, int of) {
    seen.push_back(done);
    total = of;
  };
  const auto list = choose(plan::Problem::alltoall(4, 64), Facts{machine},
                           nic_profiles::load("soft").hardware, options);
  EXPECT_GE(seen.size(), list.size());
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(seen.front(), 0);
  EXPECT_EQ(seen.back(), total - total / static_cast<int>(list.size()));
}

// Of a cluster one rank of each class is simulated; what is not simulated is never chosen for its
// estimate.
TEST(Choice, OnAClusterIsBySomeRanks) {
  const auto machine = hierarchy::Machine::uniform(64, 16);
  const auto hardware = nic_profiles::load("connectx-7").hardware;
  for (const auto collective : {plan::Collective::allreduce, plan::Collective::broadcast}) {
    plan::Problem problem;
    problem.collective = collective;
    problem.ranks = machine.ranks();
    const auto list = choose(resized(problem, 64), Facts{machine}, hardware);
    EXPECT_TRUE(list.front().simulated);
    EXPECT_TRUE(std::ranges::any_of(
        list, [&](const Prediction& one) { return one.simulated && one.ranks < machine.ranks(); }));
    EXPECT_TRUE(std::ranges::is_partitioned(list, &Prediction::simulated));
  }
}

/// Of 4,096 ranks few have plans of many ops, and many are of different classes.
TEST(Choice, FindsLogarithmicAlgorithmsOnLargeMachines) {
  const auto machine = hierarchy::Machine::uniform(64, 64);
  for (const plan::Collective collective :
       {plan::Collective::reduce, plan::Collective::allreduce, plan::Collective::broadcast,
        plan::Collective::scan, plan::Collective::barrier}) {
    plan::Problem problem = plan::Problem::alltoall(machine.ranks(), 64);
    problem.collective = collective;
    problem.element_bytes = 8;
    problem.commutative = true;
    const auto list = choose(problem, Facts{machine}, nic_profiles::load("connectx-7").hardware);
    EXPECT_TRUE(list.front().simulated) << to_string(collective);
    EXPECT_LT(list.front().time_ns, 20'000) << list.front().algorithm.name();
  }
}

TEST(Choice, ExplainsItself) {
  const auto machine = hierarchy::Machine::uniform(16, 8);
  const auto list =
      choose(plan::Problem::alltoall(machine.ranks(), 64), Facts{machine},
             nic_profiles::load("qle7140").hardware, {.exhaustive = true, .breakdown = true});
  const std::string text = explain(list);
  EXPECT_TRUE(text.starts_with(list.front().algorithm.name() + " spends most on ")) << text;
  EXPECT_NE(text.find("% longer"), std::string::npos) << text;
  double sum = 0;
  for (const double part : list.front().breakdown_ns) sum += part;
  EXPECT_NEAR(sum, list.front().time_ns, 1);
}

}  // namespace
}  // namespace weft::tune::simulated_choice_test
