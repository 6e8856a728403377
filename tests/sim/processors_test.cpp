// Ranks that share cores: closed forms of their waits.
#include <algorithm>
#include <map>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/inspect/trace.hpp"
#include "registry/algorithm.hpp"
#include "tests/sim/support.hpp"

namespace weft::sim::processors_test {
namespace {

using hierarchy::Machine;

/// Copies take a nanosecond per byte, and messages have no latency.
class SharedCores : public ::testing::Test {
 protected:
  SharedCores() {
    hardware_.adapter.latency_ns = 0;
    hardware_.node.cached_bytes_per_ns = 1;
    hardware_.node.memory_bytes_per_ns = 1;
  }
  double time_on(const Host& host, const PlanSource& plans, const Machine& machine) {
    hardware_.host = host;
    return simulate(plans, machine, hardware_).time_ns;
  }

  Hardware hardware_ = bare_hardware();
};

PlanSource copies(int ranks, std::uint64_t bytes) {
  return plans_by(ranks, [=](plan::Builder& builder) {
    builder.copy(output(builder.rank(), bytes), input(builder.rank(), bytes));
  });
}

TEST_F(SharedCores, AreTakenInTurnByTheRanksOfTheirHost) {
  const Machine node = Machine::uniform(1, 4);
  EXPECT_DOUBLE_EQ(time_on({1, 1, 10}, copies(4, 1000), node), 4 * 1000 + 3 * 10);
  EXPECT_DOUBLE_EQ(time_on({2, 1, 10}, copies(4, 1000), node), 2 * 1000 + 10);
  EXPECT_DOUBLE_EQ(time_on({4, 1, 10}, copies(4, 1000), node), 1000);
}

TEST_F(SharedCores, AreSharedByTheNodesOfOneHost) {
  EXPECT_DOUBLE_EQ(time_on({2, 1, 10}, copies(4, 1000), Machine::uniform(2, 2)), 1000);
  EXPECT_DOUBLE_EQ(time_on({2, 2, 10}, copies(4, 1000), Machine::uniform(2, 2)), 2 * 1000 + 10);
  EXPECT_DOUBLE_EQ(time_on({2, 2, 10}, copies(6, 1000), Machine::uniform(3, 2)), 2 * 1000 + 10);
}

TEST_F(SharedCores, GiveBothEndsOfAMessageTheirTurns) {
  hardware_.adapter.post_ns = 300;
  hardware_.adapter.poll_ns = 200;
  hardware_.adapter.pio_bytes = 64;
  // The sender posts and polls before the receiver gets the core.
  EXPECT_DOUBLE_EQ(time_on({1, 2, 10}, stream(2, 1, 8), Machine::uniform(2, 1)),
                   300 + 8 + 100 + 10 + 200);
}

/// Rank 0 works for `work_ns`, asks rank 1 and waits for its answer; again and again.
PlanSource questions(int rounds, std::uint64_t work_ns, bool inside) {
  return plans_by(2, [=](plan::Builder& builder) {
    plan::OpId last = plan::kNoOp;
    for (int round = 0; round < rounds; ++round) {
      if (builder.rank() == 0) {
        last = builder.copy(output(0, work_ns), input(0, work_ns), last);
        last = inside ? builder.signal(1, last) : builder.send(1, input(0, 8), last);
        last = inside ? builder.wait(1, last) : builder.recv(1, output(0, 8), last);
      } else {
        last = inside ? builder.wait(0, last) : builder.recv(0, output(1, 8), last);
        last = inside ? builder.signal(0, last) : builder.send(0, input(1, 8), last);
      }
    }
  });
}

// Linux gives both the same share.
TEST_F(SharedCores, AreSharedEvenlyWithARankThatPolls) {
  const double alone_ns = 100 * 20000;
  const double time_ns = time_on({1, 2, 1}, questions(100, 20000, false), Machine::uniform(2, 1));
  EXPECT_NEAR(time_ns, 2 * alone_ns, 0.02 * 2 * alone_ns);
}

TEST_F(SharedCores, AreYieldedAfterTwoHundredTurnsOfWaitingForANeighbour) {
  const double alone_ns = 100 * 20000;
  const double time_ns = time_on({1, 1, 10}, questions(100, 20000, true), Machine::uniform(1, 2));
  EXPECT_GT(time_ns, alone_ns + 98 * 200 * 10);
  EXPECT_LT(time_ns, alone_ns + 100 * (200 + 4) * 10);
}

/// How often a core of `host` does something for two of its ranks at once.
std::size_t doubly_busy(const plan::Trace& trace, const Machine& machine, const Host& host) {
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> of_core;
  std::map<int, int> dealt;
  std::vector<std::pair<int, int>> core_of;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const int on = machine.node_of(rank) / host.nodes;
    core_of.emplace_back(on, dealt[on]++ % host.cores);
  }
  for (const auto& span : trace.spans) {
    if (span.activity != plan::Activity::busy) continue;
    of_core[core_of[static_cast<std::size_t>(span.rank)]].emplace_back(span.begin_ps, span.end_ps);
  }
  std::size_t twice = 0;
  for (auto& [core, spans] : of_core) {
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i) {
      twice += spans[i].first < spans[i - 1].second ? 1 : 0;
    }
  }
  return twice;
}

RC_GTEST_PROP(SharedCoresOfAnyPlan, RunOneRankAtATimeAndGainNothing, ()) {
  const int nodes = *rc::gen::inRange(1, 4), ppn = *rc::gen::inRange(1, 5);
  const Machine machine = Machine::uniform(nodes, ppn);
  const auto algorithm = registry::Algorithm::parse(
      plan::Collective::alltoall, *rc::gen::elementOf(std::vector<std::string>{
                                      "isend", "bruck", "pairwise-ring", "sa", "rd", "leader"}));
  const auto problem = plan::Problem::alltoall(machine.ranks(), *rc::gen::inRange(1, 20000));
  const auto plan_of = [&](int rank) { return algorithm.plan(problem, machine, rank); };
  Hardware hardware = bare_hardware();
  hardware.host.cores = *rc::gen::inRange(1, 6);
  hardware.host.nodes = *rc::gen::inRange(1, 4);
  hardware.host.switch_ns = *rc::gen::inRange(0, 500);
  hardware.adapter.post_ns = *rc::gen::inRange(0, 1000);
  hardware.adapter.poll_ns = *rc::gen::inRange(0, 1000);
  hardware.adapter.pio_bytes = *rc::gen::elementOf(std::vector<std::uint64_t>{0, 100, UINT64_MAX});
  hardware.adapter.eager_bytes = *rc::gen::inRange(0, 20000);
  hardware.node.signal_ns = *rc::gen::inRange(0, 300);
  plan::Trace trace;
  const Result shared = simulate(plan_of, machine, hardware, {.breakdown = true, .trace = &trace});
  const double sum = std::accumulate(shared.breakdown_ns.begin(), shared.breakdown_ns.end(), 0.0);
  RC_ASSERT(std::abs(sum - shared.time_ns) < 1);
  RC_ASSERT(doubly_busy(trace, machine, hardware.host) == 0u);
  const bool has_all = hardware.host.cores >= ppn * hardware.host.nodes;
  hardware.host = {};
  const Result alone = simulate(plan_of, machine, hardware);
  // Cores that no rank waits for change nothing.
  if (has_all) RC_ASSERT(shared.time_ns == alone.time_ns);
  // Between nodes messages meet in another order, which may happen to be a better one.
  RC_ASSERT(shared.time_ns >= (nodes == 1 ? 0.9 : 0.5) * alone.time_ns);
}

}  // namespace
}  // namespace weft::sim::processors_test
