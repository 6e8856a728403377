#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "tests/alltoall/support.hpp"

namespace weft::alltoall {
namespace {

/// Each property draws machines; every draw is checked with every variant.
RC_GTEST_PROP(EveryVariant, IsRightOnAnyMachine, ()) {
  const auto machine = any_machine();
  const auto problem = any_problem(machine.ranks());
  for (const Algorithm& algorithm : variants(Collective::alltoall, machine.ranks())) {
    const std::string flaws = flaws_of(algorithm, problem, machine);
    if (!flaws.empty()) RC_FAIL(flaws);
  }
}

TEST(EveryVariant, IsRightOnEverySmallPlacement) {
  for (const char* text :
       {"1x1", "1x2", "2x1",   "1x3",        "3x1",     "2x2",         "2x2:cyclic",
        "1+3", "3+1", "1+3+4", "4+1+2",      "0,1,1,0", "0,1,2,0,1,0", "1,0,0,1,0,2",
        "5x1", "1x5", "3x3",   "4x4:cyclic", "2x8",     "7x2"}) {
    const auto machine = hierarchy::Machine::parse(text);
    for (const std::uint64_t stride : {8, 24}) {
      const plan::Problem problem{plan::Collective::alltoall, machine.ranks(), 8, stride};
      for (const Algorithm& algorithm : variants(Collective::alltoall, machine.ranks())) {
        const std::string flaws = flaws_of(algorithm, problem, machine);
        ASSERT_EQ(flaws, "");
      }
    }
  }
}

TEST(EveryVariant, HasItsNameOnce) {
  for (const int ranks : {1, 2, 3, 5, 40}) {
    std::set<std::string> seen;
    for (const Algorithm& algorithm : variants(Collective::alltoall, ranks)) {
      EXPECT_TRUE(seen.insert(algorithm.name()).second) << algorithm.name();
      EXPECT_EQ(parse(algorithm.name()), algorithm) << algorithm.name();
    }
  }
}

RC_GTEST_PROP(EveryVariant, GivesTheSamePlanForTheSameArguments, ()) {
  const auto machine = any_machine(12);
  const auto problem = any_problem(machine.ranks());
  for (const Algorithm& algorithm : variants(Collective::alltoall, machine.ranks())) {
    const auto copy = hierarchy::Machine::parse(to_string(machine));
    RC_ASSERT(plans_of(algorithm, problem, machine) ==
              plans_of(parse(algorithm.name()), problem, copy));
  }
}

RC_GTEST_PROP(EveryVariant, DoesNothingForEmptyBlocks, ()) {
  const auto machine = any_machine(12);
  const plan::Problem problem = plan::Problem::alltoall(machine.ranks(), 0);
  for (const Algorithm& algorithm : variants(Collective::alltoall, machine.ranks())) {
    for (const auto& plan : plans_of(algorithm, problem, machine)) {
      RC_ASSERT(plan.ops().empty());
      RC_ASSERT(plan.stage_bytes() + plan.scratch_bytes() == 0u);
    }
  }
}

TEST(EveryVariant, CopiesOnceOnOneRank) {
  const auto machine = hierarchy::Machine::uniform(1, 1);
  for (const Algorithm& algorithm : variants(Collective::alltoall, 1)) {
    const auto plan = algorithm.plan(plan::Problem::alltoall(1, 100), machine, 0);
    ASSERT_EQ(plan.ops().size(), 1u) << algorithm.name();
    EXPECT_EQ(plan.ops()[0].kind, plan::OpKind::copy);
  }
}

}  // namespace
}  // namespace weft::alltoall
