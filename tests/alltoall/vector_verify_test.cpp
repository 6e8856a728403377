// Alltoallv, and both collectives in place: every scheme with every parameter, proved.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <functional>
#include <span>

#include "base/error.hpp"
#include "tests/alltoall/counts.hpp"
#include "tests/alltoall/support.hpp"

namespace weft::alltoall::vector_verify_test {
namespace {

using hierarchy::LocalBlocks;
using hierarchy::Machine;
using plan::Collective;
using plan::Problem;

Algorithm vector_parse(const std::string& name) {
  return Algorithm::parse(Collective::alltoallv, name);
}

Algorithm with_aggregate(const Algorithm& algorithm, const std::string& setting) {
  if (algorithm.is_flat() || setting.empty()) return algorithm;
  const std::string name = algorithm.name();
  const bool bare = name.find(':') == name.npos;
  return Algorithm::parse(algorithm.collective(),
                          name + (bare ? ":" + setting.substr(1) : setting));
}

/// Proves every variant; the number of problems.
int prove_variants(const Problem& problem, const Machine& machine, const std::string& setting) {
  int cases = 0;
  for (const Algorithm& plain : variants(problem.collective, machine.ranks())) {
    const Algorithm algorithm = with_aggregate(plain, setting);
    const std::string flaws = flaws_of(algorithm, problem, machine);
    if (!flaws.empty()) RC_FAIL(flaws);
    ++cases;
  }
  return cases;
}

// Together over 20,000 cases.
TEST(EveryVariantOfAlltoallv, IsRightOnAnyMachineWithAnyCounts) {
  int cases = 0;
  check_property(
      [&] {
        const Machine machine = any_machine(14);
        const Problem problem = any_alltoallv(machine.ranks(), false);
        cases += prove_variants(problem, machine, any_aggregate());
      },
      180);
  EXPECT_GE(cases, 10'000);
}

TEST(EveryVariantOfAlltoallv, IsRightInPlace) {
  int cases = 0;
  check_property(
      [&] {
        const Machine machine = any_machine(14);
        const Problem problem = any_alltoallv(machine.ranks(), true);
        cases += prove_variants(problem, machine, any_aggregate());
      },
      180);
  EXPECT_GE(cases, 10'000);
}

TEST(EveryVariantOfAlltoall, IsRightInPlace) {
  int cases = 0;
  check_property(
      [&] {
        const Machine machine = any_machine(14);
        Problem problem = any_problem(machine.ranks());
        problem.in_place = true;
        cases += prove_variants(problem, machine, any_aggregate());
      },
      40);
  EXPECT_GE(cases, 4'000);
}

TEST(EveryVariantOfAlltoallv, IsRightOnMachinesOfUpTo200RanksOn40Nodes) {
  check_property(
      [] {
        const Machine machine = any_wide_machine(200, 40);
        const bool in_place = *rc::gen::arbitrary<bool>().as("in place");
        const Problem problem = any_alltoallv(machine.ranks(), in_place);
        const auto all = variants(problem.collective, machine.ranks());
        const auto chosen = *rc::gen::inRange<std::size_t>(0, all.size()).as("variant");
        const std::string flaws =
            flaws_of(with_aggregate(all[chosen], any_aggregate()), problem, machine);
        if (!flaws.empty()) RC_FAIL(flaws);
      },
      100);
}

TEST(EveryVariantOfAlltoallv, TakesOneRankThatSendsGigabytes) {
  const Machine machine = Machine::parse("2+3+1");
  for (const bool in_place : {false, true}) {
    // In place blocks go in segments, each an op: fewer bytes.
    const std::uint64_t most = in_place ? 20 << 20 : std::uint64_t{3} << 30;
    const auto sizes = [most](int from, int) { return from == 0 ? most : 1; };
    const auto problem = make_alltoallv(6, sizes, Placing::dense, Placing::dense, in_place);
    for (const char* name : {"isend", "sa", "sa:aggregate=1M", "rd:aggregate=1M", "leader"}) {
      EXPECT_EQ(flaws_of(parse(name), problem, machine), "") << in_place;
    }
  }
}

/// What a rank cannot know is spoiled: the counts and places of ranks that are not `known`.
Problem spoiled(Problem problem, const std::function<bool(int rank)>& known, bool empty) {
  for (auto* rows : {&problem.sends, &problem.receives}) {
    for (std::size_t rank = 0; rank < rows->size(); ++rank) {
      if (known(static_cast<int>(rank))) continue;
      auto& row = (*rows)[rank];
      if (empty) row.clear();
      for (plan::Block& block : row) block = {block.offset * 7 + 3, block.bytes ^ 0x5a5a};
    }
  }
  return problem;
}

RC_GTEST_PROP(Knowledge, APlanDependsOnTheCountsOfItsOwnNodeAlone, ()) {
  const Machine machine = any_machine(10);
  const bool in_place = *rc::gen::arbitrary<bool>().as("in place");
  const Problem problem = any_alltoallv(machine.ranks(), in_place);
  const std::string setting = any_aggregate();
  std::vector<std::array<Problem, 2>> unknown;  // by node
  for (int node = 0; node < machine.nodes(); ++node) {
    const auto known = [&](int rank) { return machine.node_of(rank) == node; };
    unknown.push_back({spoiled(problem, known, false), spoiled(problem, known, true)});
  }
  for (const Algorithm& plain : variants(Collective::alltoallv, machine.ranks())) {
    const Algorithm algorithm = with_aggregate(plain, setting);
    for (int rank = 0; rank < machine.ranks(); ++rank) {
      const auto plan = algorithm.plan(problem, machine, rank);
      for (const Problem& other : unknown[machine.node_of(rank)]) {
        RC_ASSERT(algorithm.plan(other, machine, rank) == plan);
      }
    }
  }
}

RC_GTEST_PROP(Knowledge, APlanThatSaysSoDependsOnItsOwnRowsAlone, ()) {
  const Machine machine = *rc::gen::arbitrary<bool>().as("one node")
                              ? Machine::uniform(1, *rc::gen::inRange(1, 9).as("ranks"))
                              : any_machine(10);
  const bool in_place = *rc::gen::arbitrary<bool>().as("in place");
  const Problem problem = any_alltoallv(machine.ranks(), in_place);
  const std::string setting = any_aggregate();
  int found = 0;
  for (const Algorithm& plain : variants(Collective::alltoallv, machine.ranks())) {
    const Algorithm algorithm = with_aggregate(plain, setting);
    if (!algorithm.needs_own_rows_only(machine)) continue;
    ++found;
    for (int rank = 0; rank < machine.ranks(); ++rank) {
      const auto known = [rank](int other) { return other == rank; };
      const Problem others = spoiled(problem, known, false);
      const auto row = static_cast<std::size_t>(rank);
      const auto own = LocalBlocks::of_rank(
          machine, rank, in_place ? std::span<const plan::Block>() : std::span(problem.sends[row]),
          problem.receives[row], in_place);
      const auto plan = algorithm.plan(problem, machine, rank);
      RC_ASSERT(algorithm.plan(others, machine, rank) == plan);
      RC_ASSERT(algorithm.plan(own, machine, rank) == plan);
    }
  }
  RC_ASSERT(found > 0);
}

TEST(Knowledge, LocalBlocksTellNothingOfOtherNodes) {
  const Machine machine = Machine::parse("2x2");
  const auto problem = make_alltoallv(
      4, [](int, int) { return std::uint64_t{8}; }, Placing::dense, Placing::dense, false);
  const LocalBlocks blocks(problem, machine, 0);
  EXPECT_EQ(blocks.sent_bytes(1, 3), 8u);
  EXPECT_THROW(static_cast<void>(blocks.sent_bytes(2, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(blocks.received_bytes(3, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(blocks.source(2, 0)), UsageError);
  EXPECT_THROW(static_cast<void>(blocks.target(2, 0)), UsageError);
  const auto own = LocalBlocks::of_rank(machine, 1, problem.sends[1], problem.receives[1], false);
  EXPECT_EQ(own.sent_bytes(1, 3), 8u);
  EXPECT_THROW(static_cast<void>(own.sent_bytes(0, 1)), UsageError);
  EXPECT_THROW(static_cast<void>(own.target(0, 1)), UsageError);
}

TEST(Knowledge, RowsThatAreMissingAreNamed) {
  const Machine machine = Machine::parse("2x2");
  Problem problem = make_alltoallv(
      4, [](int, int) { return std::uint64_t{8}; }, Placing::dense, Placing::dense, false);
  problem.receives[1].pop_back();
  try {
    parse("sa").plan(problem, machine, 0);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "alltoallv of 4 ranks: a row of 3 blocks in the receives of node 0");
  }
}

RC_GTEST_PROP(EveryVariantOfAlltoallv, IsTheAlltoallWhereCountsAreEqual, ()) {
  const Machine machine = any_machine(12);
  const std::uint64_t bytes = *rc::gen::element<std::uint64_t>(1, 8, 100).as("bytes");
  const bool in_place = *rc::gen::arbitrary<bool>().as("in place");
  // Blocks of one size need no slots.
  const std::string setting = machine.nodes() > 1 ? any_aggregate() : "";
  const auto vector = make_alltoallv(
      machine.ranks(), [bytes](int, int) { return bytes; }, Placing::dense, Placing::dense,
      in_place);
  Problem constant = Problem::alltoall(machine.ranks(), bytes);
  constant.in_place = in_place;
  for (const Algorithm& plain : variants(Collective::alltoallv, machine.ranks())) {
    Algorithm algorithm = with_aggregate(plain, setting);
    if (algorithm.reads(algorithm::Parameter::slot)) {
      // In place, no block is copied aside that does not travel; schemes stage what they send.
      if (in_place || !plain.is_flat()) continue;
      algorithm =
          vector_parse(fmt::format("bruck:radix={},slot={}", plain.parameters().radix, bytes));
    }
    RC_ASSERT(plans_of(algorithm, vector, machine) == plans_of(algorithm, constant, machine));
  }
}

RC_GTEST_PROP(EveryVariantOfAlltoallv, DoesNothingWhereAllCountsAreZero, ()) {
  const Machine machine = any_machine(12);
  const auto problem = make_alltoallv(
      machine.ranks(), [](int, int) { return std::uint64_t{0}; }, Placing::dense, Placing::dense,
      *rc::gen::arbitrary<bool>().as("in place"));
  for (const Algorithm& algorithm : variants(Collective::alltoallv, machine.ranks())) {
    if (algorithm.reads(algorithm::Parameter::slot)) continue;  // slots travel empty, too
    for (const auto& plan : plans_of(algorithm, problem, machine)) RC_ASSERT(plan.ops().empty());
  }
}

TEST(EveryVariantOfAlltoallv, PassesNothingOn) {
  const auto problem = make_alltoallv(
      4, [](int, int) { return std::uint64_t{8}; }, Placing::dense, Placing::dense, false);
  try {
    parse("sa:between=bruck").plan(problem, Machine::parse("2x2"), 0);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "algorithm 'sa:between=bruck': not for alltoallv, as bruck passes on blocks of "
                 "other ranks, whose sizes a rank does not know");
  }
}

}  // namespace
}  // namespace weft::alltoall::vector_verify_test
