// Slots are chosen where they win in the simulator for what ranks have, and nowhere else.
#include "tune/slot_choice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "hierarchy/local_blocks.hpp"
#include "nic_profiles/profile.hpp"
#include "sim/simulator.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::tune::slot_choice_test {
namespace {

using hierarchy::Machine;
using plan::Collective;

sim::Hardware omni_path() {
  return nic_profiles::load("omni-path-100").hardware;
}

Algorithm base_of(const Machine& machine) {
  return Algorithm::parse(Collective::alltoallv, machine.widest() == 1 ? "isend" : "sa");
}

/// Simulated once.
const SlotChoice& choice_on(const Machine& machine) {
  static std::map<std::string, SlotChoice> known;
  auto [found, is_new] = known.try_emplace(to_string(machine));
  if (is_new) found->second = SlotChoice::simulate(base_of(machine), {machine}, omni_path());
  return found->second;
}

/// Each rank has a block for every `of`-th of the others, `large` of them of 2 KiB, the others of
/// `bytes`.
PairCounts counts_of(const Machine& machine, int of, std::uint64_t bytes, std::uint64_t large) {
  PairCounts counts;
  if (bytes == 0) return counts;
  counts.blocks = 2 * static_cast<std::uint64_t>((machine.ranks() - 1) / of);
  for (std::size_t i = 0; i < PairCounts::kSizes.size(); ++i) {
    counts.larger[i] = bytes > PairCounts::kSizes[i] ? counts.blocks : 2 * large;
  }
  return counts;
}

std::string chosen(const Machine& machine, const SlotChoice& choice, int of, std::uint64_t bytes,
                   std::uint64_t large = 0) {
  return choice.ways()[choice.choose(counts_of(machine, of, bytes, large), 0)].algorithm;
}

TEST(SlotChoice, IsBySizeWhereManyRanksHaveALittleForMostOthers) {
  for (const char* text : {"64x1", "128x2"}) {
    const Machine machine = Machine::parse(text);
    const SlotChoice& choice = choice_on(machine);
    const std::string base = base_of(machine).name();
    ASSERT_TRUE(choice.may_take_slots()) << text;
    EXPECT_NE(chosen(machine, choice, 1, 8).find("slot=8"), std::string::npos) << text;
    EXPECT_NE(chosen(machine, choice, 1, 20).find("slot=32"), std::string::npos) << text;
    // Some large ones go straight.
    EXPECT_NE(chosen(machine, choice, 1, 8, 1).find("slot=8"), std::string::npos) << text;
    EXPECT_EQ(chosen(machine, choice, 1, 4096), base) << text;
    EXPECT_EQ(chosen(machine, choice, 1, 0), base) << text;
    EXPECT_EQ(chosen(machine, choice, 20, 8), base) << text;
    EXPECT_EQ(chosen(machine, choice, 1000, 8), base) << text;
  }
}

TEST(SlotChoice, IsNeverOfSlotsOnOneNodeAndAmongFewRanks) {
  for (const char* text : {"1x1", "1x16", "2x1", "4x1", "2x4", "8x16"}) {
    EXPECT_FALSE(choice_on(Machine::parse(text)).may_take_slots()) << text;
  }
}

TEST(SlotChoice, CountsThePlanningOfCallsThatDiffer) {
  const Machine machine = Machine::parse("64x1");
  const SlotChoice& choice = choice_on(machine);
  PairCounts counts = counts_of(machine, 1, 8, 0);
  EXPECT_GT(choice.choose(counts, 0), 0u);
  // Slots take a few times as long to plan: measured here, so the most that is sure.
  const double ratio = choice.ways()[1].planning_ns / choice.ways()[0].planning_ns;
  if (ratio < 1.5) GTEST_SKIP() << "no difference was measured: " << ratio;
  counts.planning_ns = 100'000;
  EXPECT_EQ(choice.choose(counts, 0), 0u);
  // As long in slots is shorter without.
  EXPECT_EQ(choice.choose(counts, 1), 0u);
}

RC_GTEST_PROP(SlotChoice, IsReadBackFromItsText, ()) {
  const SlotChoice& choice = choice_on(Machine::uniform(
      *rc::gen::element(1, 2, 16, 24).as("nodes"), *rc::gen::inRange(1, 3).as("ranks of each")));
  RC_ASSERT(SlotChoice::from_text(choice.to_text()) == choice);
}

/// An alltoallv in which each pair has something with a probability of `percent`.
class Calls {
 public:
  Calls(const Machine& machine, unsigned seed, unsigned percent, std::uint64_t most)
      : machine_(machine), sizes_(static_cast<std::size_t>(machine.ranks() * machine.ranks())) {
    std::mt19937 random(seed);
    for (std::uint64_t& size : sizes_) {
      size = random() % 100 < percent ? 1 + random() % most : 0;
    }
  }

  PairCounts counts() const {
    PairCounts most;
    for (int rank = 0; rank < machine_.ranks(); ++rank) {
      PairCounts own;
      for (int other = 0; other < machine_.ranks(); ++other) {
        if (machine_.same_node(rank, other)) continue;
        for (const std::uint64_t bytes : {size(rank, other), size(other, rank)}) {
          own.blocks += bytes > 0;
          for (std::size_t i = 0; i < own.larger.size(); ++i) {
            own.larger[i] += bytes > PairCounts::kSizes[i];
          }
        }
      }
      most.blocks = std::max(most.blocks, own.blocks);
      for (std::size_t i = 0; i < own.larger.size(); ++i) {
        most.larger[i] = std::max(most.larger[i], own.larger[i]);
      }
    }
    return most;
  }

  double time_ns(const std::string& name) const {
    plan::Problem problem = plan::Problem::alltoall(machine_.ranks(), 0);
    problem.collective = Collective::alltoallv;
    for (int rank = 0; rank < machine_.ranks(); ++rank) {
      problem.sends.push_back(row(rank, true));
      problem.receives.push_back(row(rank, false));
    }
    const auto algorithm = Algorithm::parse(Collective::alltoallv, name);
    const auto plan_of = [&](int rank) { return algorithm.plan(problem, machine_, rank); };
    return sim::simulate(plan_of, machine_, omni_path()).time_ns;
  }

 private:
  std::uint64_t size(int from, int to) const {
    return sizes_[static_cast<std::size_t>(from * machine_.ranks() + to)];
  }
  std::vector<plan::Block> row(int rank, bool sends) const {
    std::vector<plan::Block> blocks;
    std::uint64_t offset = 0;
    for (int peer = 0; peer < machine_.ranks(); ++peer) {
      blocks.push_back({offset, sends ? size(rank, peer) : size(peer, rank)});
      offset += blocks.back().bytes;
    }
    return blocks;
  }

  const Machine& machine_;
  std::vector<std::uint64_t> sizes_;
};

// Whatever the counts: by the figures of the busiest rank alone.
RC_GTEST_PROP(SlotChoice, IsNotSlowerThanWithoutSlotsInTheSimulator, ()) {
  const Machine machine =
      Machine::parse(*rc::gen::element<std::string>("24x1", "48x1", "40x2").as("machine"));
  const SlotChoice& choice = choice_on(machine);
  const Calls calls(machine, *rc::gen::arbitrary<unsigned>().as("seed"),
                    *rc::gen::element(1u, 5u, 20u, 50u, 90u, 100u).as("percent"),
                    *rc::gen::element<std::uint64_t>(8, 30, 40, 140, 600).as("most bytes"));
  const auto& chosen = choice.ways()[choice.choose(calls.counts(), 0)];
  const double base_ns = calls.time_ns(choice.ways().front().algorithm);
  RC_CLASSIFY(chosen.algorithm != choice.ways().front().algorithm, "in slots");
  RC_ASSERT(calls.time_ns(chosen.algorithm) <= 1.05 * base_ns);
}

}  // namespace
}  // namespace weft::tune::slot_choice_test
