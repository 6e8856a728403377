// The take-over rule: how many calls the host serves.
#include "mpi/world/take_over.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weft::mpi {
namespace {

/// Allreduces of 8 bytes until weft takes over.
int calls_until_due(const TakeOver::Placement& placement) {
  TakeOver rule(placement);
  int calls = 0;
  while (!rule.is_due()) {
    rule.count(plan::Collective::allreduce, 8);
    ++calls;
  }
  return calls;
}

TakeOver::Placement any_placement() {
  return {.ranks = *rc::gen::inRange(2, 65),
          .nodes = *rc::gen::inRange(1, 4),
          .most_ranks_on_a_core = *rc::gen::inRange(1, 9),
          .waiting_keeps_core = *rc::gen::arbitrary<bool>()};
}

RC_GTEST_PROP(TakeOver, OfAllRanksComesLater, ()) {
  TakeOver::Placement placement = any_placement();
  placement.waiting_keeps_core = false;  // else a turn outweighs the rest
  const int later_ones = calls_until_due(placement);
  placement.is_of_all_ranks = true;
  RC_ASSERT(calls_until_due(placement) > later_ones);
}

RC_GTEST_PROP(TakeOver, ComesAfterFewerLongCalls, ()) {
  const TakeOver::Placement placement = any_placement();
  TakeOver rule(placement);
  const int calls = calls_until_due(placement);
  for (int call = 0; call < calls; ++call) rule.count(plan::Collective::allreduce, 1 << 20);
  RC_ASSERT(rule.is_due());
}

/// 0.42 ms, of which each call earns a third of half a microsecond.
TEST(TakeOver, OfAllOfTwoRanksComesAfter2500ShortCalls) {
  const int calls = calls_until_due({.ranks = 2, .is_of_all_ranks = true});
  EXPECT_GT(calls, 2400);
  EXPECT_LT(calls, 2600);
}

}  // namespace
}  // namespace weft::mpi
