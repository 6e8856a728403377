#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "tests/gather/support.hpp"
#include "tests/registry/variant_checks.hpp"

namespace weft::gather::verify_test {
namespace {

using registry::flaws_of_any;
using registry::kSmallPlacements;
using registry::that_differ_anew;
using registry::wrong_names;
using Names = std::set<std::string>;

/// Each property draws machines and problems; every draw is checked with every variant.
void check_all(Collective collective, int most_ranks) {
  const auto machine = any_machine(most_ranks);
  const auto problem = any_problem(collective, machine.ranks());
  const auto flaws =
      flaws_of_any(variants(collective, machine.ranks(), kSegment), problem, machine);
  if (!flaws.empty()) RC_FAIL(flaws);
}

RC_GTEST_PROP(EveryVariant, OfBroadcastIsRightOnAnyMachine, ()) {
  check_all(Collective::broadcast, 24);
}
RC_GTEST_PROP(EveryVariant, OfScatterIsRightOnAnyMachine, ()) {
  check_all(Collective::scatter, 40);
}
RC_GTEST_PROP(EveryVariant, OfGatherIsRightOnAnyMachine, ()) {
  check_all(Collective::gather, 40);
}
RC_GTEST_PROP(EveryVariant, OfAllgatherIsRightOnAnyMachine, ()) {
  check_all(Collective::allgather, 24);
}
RC_GTEST_PROP(EveryVariant, OfBarrierIsRightOnAnyMachine, ()) {
  check_all(Collective::barrier, 40);
}

TEST(EveryVariant, IsRightOnEverySmallPlacement) {
  for (const char* text : kSmallPlacements) {
    const auto machine = Machine::parse(text);
    for (const Collective collective : kCollectives) {
      std::set<int> roots = {0};
      if (is_rooted(collective)) roots.insert({machine.ranks() / 2, machine.ranks() - 1});
      for (const int root : roots) {
        const plan::Problem problem{collective, machine.ranks(), 56, 64, root};
        ASSERT_EQ(flaws_of_any(variants(collective, machine.ranks(), kSegment), problem, machine),
                  "");
      }
    }
  }
}

TEST(EveryVariant, IsRightOnManyRanks) {
  const auto machine = Machine::parse("50+3+47+60+1+39/3");
  for (const Collective collective : kCollectives) {
    const plan::Problem problem{collective, machine.ranks(), 8, 8, is_rooted(collective) ? 77 : 0};
    for (const auto* scheme : registry::schemes(collective)) {
      for (const char* leaders : {"", ":leaders=2", ":leaders=all", ":leaders=sockets"}) {
        const auto plain = Algorithm::parse(collective, scheme->name);
        if (leaders[0] != 0 && !plain.reads(algorithm::Parameter::leaders)) continue;
        const auto name = fmt::format("{}{}", scheme->name, leaders);
        ASSERT_EQ(flaws_of(Algorithm::parse(collective, name), problem, machine), "");
      }
    }
    for (const auto* flat : registry::flat_algorithms(collective)) {
      ASSERT_EQ(flaws_of(Algorithm::parse(collective, flat->name), problem, machine), "");
    }
  }
}

TEST(EveryVariant, HasItsNameOnce) {
  for (const Collective collective : kCollectives) {
    for (const int ranks : {1, 2, 3, 5, 40}) EXPECT_EQ(wrong_names(collective, ranks), Names());
  }
}

RC_GTEST_PROP(EveryVariant, GivesTheSamePlanForTheSameArguments, ()) {
  const auto machine = any_machine(12);
  for (const Collective collective : kCollectives) {
    const auto problem = any_problem(collective, machine.ranks());
    const auto all = variants(collective, machine.ranks(), kSegment);
    RC_ASSERT(that_differ_anew(all, problem, machine) == Names());
  }
}

TEST(EveryVariant, DoesNothingForEmptyBlocks) {
  for (const char* text : kSmallPlacements) {
    const auto machine = Machine::parse(text);
    for (const Collective collective : kCollectives) {
      if (collective == Collective::barrier) continue;
      const plan::Problem problem{collective, machine.ranks(), 0, 0};
      for (const Algorithm& algorithm : variants(collective, machine.ranks())) {
        for (const auto& plan : plans_of(algorithm, problem, machine)) {
          EXPECT_TRUE(plan.ops().empty()) << algorithm.name();
          EXPECT_EQ(plan.stage_bytes() + plan.scratch_bytes(), 0u) << algorithm.name();
        }
      }
    }
  }
}

TEST(EveryVariant, CopiesAtMostOnceOnOneRank) {
  const auto machine = Machine::uniform(1, 1);
  for (const Collective collective : kCollectives) {
    const std::size_t copies =
        collective == Collective::broadcast || collective == Collective::barrier ? 0 : 1;
    for (const Algorithm& algorithm : variants(collective, 1)) {
      const auto plan = algorithm.plan({collective, 1, 100, 100}, machine, 0);
      EXPECT_EQ(plan.ops().size(), copies) << to_string(collective) << " " << algorithm.name();
    }
  }
}

}  // namespace
}  // namespace weft::gather::verify_test
