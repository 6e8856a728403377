#include "sim/classes.hpp"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "registry/algorithm.hpp"
#include "registry/variants.hpp"
#include "tests/registry/plans.hpp"
#include "tests/sim/support.hpp"

namespace weft::sim::classes_test {
namespace {

using hierarchy::Machine;
using plan::Collective;
using plan::Problem;

Hardware adapters_and_cores() {
  Hardware hardware = bare_hardware();
  auto& adapter = hardware.adapter;
  adapter.post_ns = 60;
  adapter.poll_ns = 50;
  adapter.pio_bytes = 256;
  adapter.pio_bytes_per_ns = 8;
  adapter.dma_start_ns = 250;
  adapter.message_gap_ns = 5;
  adapter.bytes_per_ns = 40;
  adapter.eager_bytes = 8192;
  adapter.receiver_first = true;
  hardware.node.copy_start_ns = 15;
  hardware.node.signal_ns = 80;
  hardware.node.total_bytes_per_ns = 300;
  hardware.fabric.hop_ns = 100;
  return hardware;
}

Problem problem_of(Collective collective, int ranks, std::uint64_t bytes) {
  if (collective == Collective::barrier) return {collective, ranks};
  return {collective, ranks, bytes, bytes};
}

/// The error of the simulation by class, as a part of the time of the whole one; the times must
/// come from classes.
double error_by_class(const registry::Algorithm& algorithm, const Problem& problem,
                      const Machine& machine, const Hardware& hardware) {
  const auto plan_of = [&](int rank) { return algorithm.plan(problem, machine, rank); };
  const Result whole = simulate(plan_of, machine, hardware);
  const Result some = simulate(plan_of, machine, hardware, {.by_class = true});
  EXPECT_TRUE(some.whole.empty()) << algorithm.name() << ": " << some.whole;
  EXPECT_LT(some.simulated, machine.ranks()) << algorithm.name();
  if (some.counted) {
    EXPECT_EQ(some.messages, whole.messages) << algorithm.name();
    EXPECT_EQ(some.wire_bytes, whole.wire_bytes) << algorithm.name();
  }
  return some.time_ns / whole.time_ns - 1;
}

struct Exchange {
  Collective collective;
  std::string_view name;
};
constexpr Exchange kExchanges[] = {
    {Collective::alltoall, "isend"},
    {Collective::alltoall, "pairwise-xor"},
    {Collective::alltoall, "leader"},
    {Collective::allreduce, "recursive-doubling"},
    {Collective::allreduce, "halving-doubling"},
    {Collective::allreduce, "leader"},
    {Collective::allreduce, "leader:leaders=all"},
    {Collective::allgather, "doubling"},
    {Collective::allgather, "leader:between=bruck"},
    {Collective::barrier, "dissemination"},
    {Collective::barrier, "leader"},
};

// Powers of two: exchanges of pairs have no remainder then, and every rank does the same.
RC_GTEST_PROP(Classes, OfExchangesOfShortMessagesTakeTheTimeOfAllRanks, ()) {
  const int nodes = 1 << *rc::gen::inRange(4, 6).as("nodes, as a power of two");
  const int ppn = 1 << *rc::gen::inRange(2, 4).as("ranks a node, as a power of two");
  const Machine machine = Machine::uniform(nodes, ppn);
  const Exchange one =
      *rc::gen::elementOf(std::vector<Exchange>(std::begin(kExchanges), std::end(kExchanges)));
  const auto bytes = *rc::gen::element<std::uint64_t>(8, 64);
  const auto algorithm = registry::Algorithm::parse(one.collective, one.name);
  const Problem problem = problem_of(one.collective, machine.ranks(), bytes);
  if (algorithm.refusal(problem, machine)) return;
  const double error = error_by_class(algorithm, problem, machine, adapters_and_cores());
  RC_LOG() << algorithm.name() << " of " << bytes << " bytes: " << 100 * error << " %";
  RC_ASSERT(std::abs(error) <= 0.05);
}

TEST(Classes, OfTreesHaveTheRanksThatEndLast) {
  const Machine machine = Machine::uniform(16, 4);
  for (const std::string_view name : {"binomial", "binomial:radix=4", "binary", "leader"}) {
    const auto algorithm = registry::Algorithm::parse(Collective::broadcast, name);
    const Problem problem = problem_of(Collective::broadcast, machine.ranks(), 64);
    EXPECT_NEAR(error_by_class(algorithm, problem, machine, adapters_and_cores()), 0, 0.05) << name;
  }
}

TEST(Classes, NeverSpellAnAlltoallOut) {
  const Machine machine = Machine::uniform(256, 16);
  const auto algorithm = registry::Algorithm::parse(Collective::alltoall, "isend");
  const Problem problem = Problem::alltoall(machine.ranks(), 64);
  int plans = 0;
  const auto plan_of = [&](int rank) {
    ++plans;
    return algorithm.plan(problem, machine, rank);
  };
  const Result result = simulate(plan_of, machine, adapters_and_cores(), {.by_class = true});
  EXPECT_TRUE(result.whole.empty()) << result.whole;
  EXPECT_LE(plans, 64);
  EXPECT_LE(result.simulated, 4);
  EXPECT_EQ(result.messages, 4096u * (4096 - 16));
}

// All ranks are simulated then, with the same result as without classes.
TEST(Classes, OfMachinesAndPlansWithoutSymmetryAreNone) {
  const auto expect_whole = [](const Machine& machine, std::string_view name,
                               std::string_view reason) {
    const auto plan_of = registry::plan_source(
        name, problem_of(Collective::allreduce, machine.ranks(), 64), machine);
    const Result some = simulate(plan_of, machine, adapters_and_cores(), {.by_class = true});
    EXPECT_NE(some.whole.find(reason), std::string::npos) << some.whole;
    EXPECT_EQ(some.simulated, machine.ranks());
    EXPECT_EQ(some.finish_ns, simulate(plan_of, machine, adapters_and_cores()).finish_ns);
  };
  expect_whole(Machine::parse("1+3+4"), "recursive-doubling", "nodes of different sizes");
  expect_whole(Machine::parse("0,1,1,0"), "recursive-doubling", "neither in blocks");
  expect_whole(Machine::uniform(1, 8), "recursive-doubling", "one node");
  expect_whole(Machine::uniform(80, 1), "chain", "long chain");
}

}  // namespace
}  // namespace weft::sim::classes_test
