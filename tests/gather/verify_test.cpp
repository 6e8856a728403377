#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "tests/gather/support.hpp"

namespace weft::gather {
namespace {

/// Each property draws machines and problems; every draw is checked with every variant.
void check_all(Collective collective, int most_ranks) {
  const auto machine = any_machine(most_ranks);
  const auto problem = any_problem(collective, machine.ranks());
  for (const Algorithm& algorithm : variants(collective, machine.ranks(), kSegment)) {
    const std::string flaws = flaws_of(algorithm, problem, machine);
    if (!flaws.empty()) RC_FAIL(flaws);
  }
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

constexpr std::array kPlacements = {"1x1",   "1x2",         "2x1",         "1x3", "3x1",
                                    "2x2",   "2x2:cyclic",  "1+3",         "3+1", "1+3+4",
                                    "4+1+2", "0,1,1,0",     "0,1,2,0,1,0", "5x1", "1x5",
                                    "3x3",   "1,0,0,1,0,2", "4x4:cyclic",  "2x8", "7x2"};

TEST(EveryVariant, IsRightOnEverySmallPlacement) {
  for (const char* text : kPlacements) {
    const auto machine = Machine::parse(text);
    for (const Collective collective : kCollectives) {
      std::set<int> roots = {0};
      if (is_rooted(collective)) roots.insert({machine.ranks() / 2, machine.ranks() - 1});
      for (const int root : roots) {
        const plan::Problem problem{collective, machine.ranks(), 56, 64, root};
        for (const Algorithm& algorithm : variants(collective, machine.ranks(), kSegment)) {
          ASSERT_EQ(flaws_of(algorithm, problem, machine), "");
        }
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
    for (const int ranks : {1, 2, 3, 5, 40}) {
      std::set<std::string> seen;
      for (const Algorithm& algorithm : variants(collective, ranks)) {
        EXPECT_TRUE(seen.insert(algorithm.name()).second) << algorithm.name();
        EXPECT_EQ(Algorithm::parse(collective, algorithm.name()), algorithm) << algorithm.name();
      }
    }
  }
}

RC_GTEST_PROP(EveryVariant, GivesTheSamePlanForTheSameArguments, ()) {
  const auto machine = any_machine(12);
  const auto copy = Machine::parse(to_string(machine));
  for (const Collective collective : kCollectives) {
    const auto problem = any_problem(collective, machine.ranks());
    for (const Algorithm& algorithm : variants(collective, machine.ranks(), kSegment)) {
      RC_ASSERT(plans_of(algorithm, problem, machine) ==
                plans_of(Algorithm::parse(collective, algorithm.name()), problem, copy));
    }
  }
}

TEST(EveryVariant, DoesNothingForEmptyBlocks) {
  for (const char* text : kPlacements) {
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
}  // namespace weft::gather
