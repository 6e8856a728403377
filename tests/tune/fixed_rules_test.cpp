// The fixed rules, where a measurement stands behind one.
#include "tune/fixed_rules.hpp"

#include <gtest/gtest.h>

#include <string>

#include "hierarchy/machine.hpp"

namespace weft::tune::fixed_rules_test {
namespace {

std::string reduce_of(std::uint64_t bytes, int ranks, Direct direct, bool crowded) {
  const auto machine = hierarchy::Machine::uniform(1, ranks);
  plan::Problem problem = plan::Problem::alltoall(ranks, bytes);
  problem.collective = plan::Collective::reduce;
  problem.element_bytes = 4;
  problem.commutative = true;
  return choose_by_rules(problem, {machine, direct, false, crowded}).name();
}

TEST(FixedRules, LetTheRootReduceOnOneNode) {
  for (const Direct direct : {Direct::none, Direct::calls, Direct::loads_of_long}) {
    for (const std::uint64_t bytes : {8u, 4096u, 1u << 14, 1u << 15}) {
      const bool in_place = direct == Direct::loads_of_long && bytes >= 1 << 14;
      EXPECT_EQ(reduce_of(bytes, 2, direct, false), in_place ? "leader:direct=1" : "leader");
      EXPECT_EQ(reduce_of(bytes, 4, direct, true), "leader") << bytes;
    }
    EXPECT_EQ(reduce_of(1 << 20, 4, direct, true), "leader");
  }
  EXPECT_EQ(reduce_of(1 << 20, 2, Direct::none, false), "leader");
  EXPECT_EQ(reduce_of(1 << 20, 2, Direct::loads_of_long, false), "leader:leaders=all,direct=1");
}

TEST(FixedRules, ShareAReductionOutAmongCores) {
  EXPECT_EQ(reduce_of(1 << 20, 4, Direct::none, false), "leader:leaders=all");
}

/// Where most buffers of 32 KiB and more are in the heap, and others are read by system calls.
std::string move(plan::Collective collective, std::uint64_t bytes, int ranks, bool crowded) {
  const auto machine = hierarchy::Machine::uniform(1, ranks);
  plan::Problem problem = plan::Problem::alltoall(ranks, bytes);
  problem.collective = collective;
  return choose_by_rules(problem, {machine, Direct::loads_of_long, false, crowded}).name();
}

TEST(FixedRules, ReadShorterBuffersInPlaceBetweenTwoRanks) {
  using plan::Collective;
  for (const Collective collective :
       {Collective::broadcast, Collective::scatter, Collective::gather, Collective::allgather}) {
    EXPECT_EQ(move(collective, 4 << 10, 2, false), "leader");
    EXPECT_EQ(move(collective, 8 << 10, 2, false), "leader:inside=direct");
    EXPECT_EQ(move(collective, 8 << 10, 2, true), "leader");
    EXPECT_EQ(move(collective, 16 << 10, 4, false), "leader");
  }
  EXPECT_EQ(move(Collective::alltoall, 8 << 10, 2, false), "sa");
}

TEST(FixedRules, ScanAlongAChainBetweenFewRanks) {
  for (const auto scan : {plan::Collective::scan, plan::Collective::exscan}) {
    for (const bool crowded : {false, true}) {
      const int most = crowded ? 8 : 4;
      EXPECT_EQ(move(scan, 2 << 10, most, crowded), "chain");
      EXPECT_NE(move(scan, 2 << 10, most + 1, crowded), "chain");
      EXPECT_NE(move(scan, 64 << 10, most, crowded), "chain");
    }
  }
}

}  // namespace
}  // namespace weft::tune::fixed_rules_test
