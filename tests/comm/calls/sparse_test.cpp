// Plans of alltoallvs in which few ranks talk cost by what is sent, not by the number of ranks.
#include <gtest/gtest.h>

#include <vector>

#include "hierarchy/local_blocks.hpp"
#include "registry/algorithm.hpp"
#include "tests/comm/support/count_allocations.hpp"

namespace weft::sparse_test {
namespace {

using hierarchy::LocalBlocks;
using hierarchy::Machine;

struct Cost {
  std::size_t ops = 0;
  long allocations = 0;
};

/// Of the plan of rank 1 on one node, which sends 8 bytes to its neighbour and receives as many,
/// and of `large` more to the one behind it.
Cost cost_of(const char* name, int ranks, std::uint64_t large) {
  const auto algorithm = registry::Algorithm::parse(plan::Collective::alltoallv, name);
  const auto machine = Machine::uniform(1, ranks);
  std::vector<plan::Block> sends(static_cast<std::size_t>(ranks));
  std::vector<plan::Block> receives(sends.size());
  sends[2] = {0, 8};
  receives[0] = {0, 8};
  sends[3] = {8, large};
  const auto blocks = LocalBlocks::of_rank(machine, 1, sends, receives, false);
  Cost cost;
  cost.allocations = -test::allocations();
  cost.ops = algorithm.plan(blocks, machine, 1).ops().size();
  cost.allocations += test::allocations();
  return cost;
}

TEST(SparseAlltoallv, IsPlannedAlikeForFewRanksAndForMany) {
  for (const char* name : {"sa:aggregate=16384", "rd:aggregate=16384", "leader:aggregate=16384"}) {
    for (const std::uint64_t large : {0, 64, 20000}) {
      const Cost few = cost_of(name, 8, large);
      const Cost many = cost_of(name, 512, large);
      EXPECT_EQ(few.ops, large == 0 ? 4u : large <= 16384 ? 6u : 5u) << name << " " << large;
      EXPECT_EQ(many.ops, few.ops) << name << " " << large;
      EXPECT_LE(many.allocations, few.allocations + 8) << name << " " << large;
    }
  }
}

}  // namespace
}  // namespace weft::sparse_test
