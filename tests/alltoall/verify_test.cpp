#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "tests/alltoall/support.hpp"
#include "tests/registry/variant_checks.hpp"

namespace weft::alltoall::verify_test {
namespace {

using registry::flaws_of_any;
using registry::kSmallPlacements;
using registry::that_differ_anew;
using registry::wrong_names;
using Names = std::set<std::string>;

/// Each property draws machines; every draw is checked with every variant.
RC_GTEST_PROP(EveryVariant, IsRightOnAnyMachine, ()) {
  const auto machine = any_machine();
  const auto problem = any_problem(machine.ranks());
  const auto flaws =
      flaws_of_any(variants(Collective::alltoall, machine.ranks()), problem, machine);
  if (!flaws.empty()) RC_FAIL(flaws);
}

TEST(EveryVariant, IsRightOnEverySmallPlacement) {
  for (const char* text : kSmallPlacements) {
    const auto machine = hierarchy::Machine::parse(text);
    for (const std::uint64_t stride : {8, 24}) {
      const plan::Problem problem{plan::Collective::alltoall, machine.ranks(), 8, stride};
      const auto all = variants(Collective::alltoall, machine.ranks());
      ASSERT_EQ(flaws_of_any(all, problem, machine), "");
    }
  }
}

TEST(EveryVariant, HasItsNameOnce) {
  for (const int ranks : {1, 2, 3, 5, 40}) {
    EXPECT_EQ(wrong_names(Collective::alltoall, ranks), Names());
  }
}

RC_GTEST_PROP(EveryVariant, GivesTheSamePlanForTheSameArguments, ()) {
  const auto machine = any_machine(12);
  const auto problem = any_problem(machine.ranks());
  const auto all = variants(Collective::alltoall, machine.ranks());
  RC_ASSERT(that_differ_anew(all, problem, machine) == Names());
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
}  // namespace weft::alltoall::verify_test
