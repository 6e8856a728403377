// The orders of flat algorithms: windows, fat trees, and swaps in place.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <set>

#include "alltoall/flat/digits.hpp"
#include "alltoall/flat/swap.hpp"
#include "plan/inspect/cost_sheet.hpp"
#include "tests/alltoall/counts.hpp"
#include "tests/alltoall/support.hpp"

namespace weft::alltoall::order_test {
namespace {

using hierarchy::Machine;
using plan::Problem;

TEST(Window, HasItsRounds) {
  for (int p = 2; p <= 20; ++p) {
    const Machine machine = Machine::uniform(p, 1);
    for (int window = 1; window <= p; ++window) {
      const auto algorithm = parse(fmt::format("isend:window={}", window));
      const auto sheet = plan::cost_sheet(machine.node_of_rank(),
                                          plans_of(algorithm, Problem::alltoall(p, 8), machine));
      EXPECT_EQ(sheet.rounds, static_cast<std::uint64_t>((p - 1 + window - 1) / window));
      EXPECT_EQ(sheet.by_rank[0].messages, static_cast<std::uint64_t>(p - 1));
    }
  }
}

TEST(FatTree, CostsTheClosedForm) {
  for (int p = 1; p <= 40; ++p) {
    const Machine machine = Machine::uniform(p, 1);
    for (int arity = 2; arity <= 9; ++arity) {
      const auto algorithm = parse(fmt::format("fat-tree:arity={}", arity));
      const auto sheet = plan::cost_sheet(machine.node_of_rank(),
                                          plans_of(algorithm, Problem::alltoall(p, 8), machine));
      const auto others = static_cast<std::uint64_t>(p - 1);
      const auto steps = static_cast<std::uint64_t>(Digits::tree(p, arity).steps());
      EXPECT_GE(steps, others + 1);
      for (const plan::Cost& cost : sheet.by_rank) EXPECT_EQ(cost.messages, others);
      EXPECT_GE(sheet.rounds, others);
      EXPECT_LE(sheet.rounds, steps - 1);
    }
  }
}

// A tree with as many links up as down below each switch, where the link that leads to a number is
// told by its place (its digit): static routes by destination. No link has two messages of a step.
TEST(FatTree, NeedsNoLinkTwiceInAStep) {
  for (int p = 1; p <= 60; ++p) {
    for (int arity = 2; arity <= 8; ++arity) {
      const Digits digits = Digits::tree(p, arity);
      for (int step = 1; step < digits.steps(); ++step) {
        std::set<std::array<int, 4>> links;  // level, switch below, link, up or down
        for (int from = 0; from < p; ++from) {
          const int to = digits.add(from, step);
          if (to >= p) continue;
          EXPECT_EQ(digits.subtract(to, step), from);
          int below_from = from;
          int below_to = to;
          int size = 1;
          for (std::size_t level = 0; below_from != below_to; ++level) {
            const int link = to % size;  // one of as many as there are numbers below
            const int depth = static_cast<int>(level);
            EXPECT_TRUE(links.insert({depth, below_from, link, 0}).second) << p << " " << arity;
            EXPECT_TRUE(links.insert({depth, below_to, link, 1}).second) << p << " " << arity;
            below_from /= digits.radices()[level];
            below_to /= digits.radices()[level];
            size *= digits.radices()[level];
          }
        }
      }
    }
  }
}

RC_GTEST_PROP(Swaps, NeedNoMoreScratchThanTheySay, ()) {
  const Machine machine = any_machine(10);
  const Problem problem = any_alltoallv(machine.ranks(), true);
  for (const char* name :
       {"isend", "isend:window=3", "pairwise-ring", "pairwise-xor", "fat-tree"}) {
    const Algorithm algorithm = parse(name);
    for (const auto& plan : plans_of(algorithm, problem, machine)) {
      RC_ASSERT(plan.scratch_bytes() <= kSwapScratchBytes);
      RC_ASSERT(plan.scratch_bytes() <= algorithm.memory_bound(machine, 0)->scratch_bytes);
      RC_ASSERT(plan.stage_bytes() == 0u);
      RC_ASSERT(plan.input_bytes() == 0u);
    }
  }
}

}  // namespace
}  // namespace weft::alltoall::order_test
