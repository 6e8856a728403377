// The closed forms at the head of each flat algorithm's file, against what its plans cost.
#include <gtest/gtest.h>

#include "gather/flat/algorithms.hpp"
#include "gather/flat/team_of_all.hpp"
#include "tests/gather/cost_support.hpp"

namespace weft::gather::flat_cost_test {
namespace {

struct Tree {
  const char* name;
  std::uint64_t depth;
  std::uint64_t children;  // of the root
};

std::array<Tree, 4> trees(std::uint64_t p) {
  return {{{"sequential", p > 1 ? 1u : 0u, p - 1},
           {"chain", p - 1, p > 1 ? 1u : 0u},
           {"binary", floor_lg(p), std::min<std::uint64_t>(2, p - 1)},
           {"binomial", floor_lg(p), ceil_log(p)}}};
}

/// Blocks on all edges of a tree, where an edge has those of its subtree.
std::uint64_t blocks_on_edges(std::string_view tree, std::uint64_t p) {
  if (tree == "sequential") return p - 1;
  if (tree == "chain") return p * (p - 1) / 2;
  return p / 2 * floor_lg(p);  // binomial, powers of two
}

constexpr int kMost = 33;

TEST(TreeCost, OfABroadcastIsTheClosedForm) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    for (const int root : {0, ranks / 2}) {
      for (const Tree& tree : trees(p)) {
        const auto sheet =
            sheet_of(Collective::broadcast, tree.name, Machine::uniform(ranks, 1), kBlock, root);
        EXPECT_EQ(sheet.rounds, tree.depth) << tree.name << " " << p;
        EXPECT_EQ(sheet.by_rank[root].messages, tree.children) << tree.name << " " << p;
        EXPECT_EQ(sheet.total.messages, p - 1);
        EXPECT_EQ(sheet.total.wire_bytes, (p - 1) * kBlock);
        EXPECT_EQ(sheet.total.copied_bytes + sheet.total.scratch_bytes + sheet.total.stage_bytes,
                  0u);
      }
    }
  }
}

// Thakur, section 4.2: T_tree = ceil(lg p) (alpha + n beta): the root starts that many messages.
TEST(TreeCost, OfTheBinomialBroadcastIsThatOfThePaper) {
  for (int ranks = 2; ranks <= kMost; ++ranks) {
    const auto sheet = sheet_of(Collective::broadcast, "binomial", Machine::uniform(ranks, 1));
    const std::uint64_t rounds = ceil_log(static_cast<std::uint64_t>(ranks));
    EXPECT_EQ(sheet.by_rank[0].messages, rounds);
    EXPECT_EQ(sheet.by_rank[0].wire_bytes, rounds * kBlock);
    for (const Cost& cost : sheet.by_rank) EXPECT_LE(cost.messages, rounds);
  }
}

TEST(TreeCost, OfABineBroadcastIsThatOfTheBinomialOne) {
  for (int ranks = 1; ranks <= 130; ++ranks) {
    for (const int root : {0, ranks / 2, ranks - 1}) {
      const auto machine = Machine::uniform(ranks, 1);
      const auto sheet = sheet_of(Collective::broadcast, "bine", machine, kBlock, root);
      const auto binomial = sheet_of(Collective::broadcast, "binomial", machine, kBlock, root);
      EXPECT_EQ(sheet.rounds, binomial.rounds) << ranks;
      EXPECT_EQ(sheet.total, binomial.total) << ranks;
      EXPECT_EQ(sheet.by_rank[root], binomial.by_rank[root]) << ranks;
    }
  }
}

TEST(TreeCost, OfABinomialTreeOfRadixKIsThatOfItsDigits) {
  for (const std::uint64_t radix : {2, 3, 4, 5}) {
    std::uint64_t rounds = 1;
    for (std::uint64_t p = radix; p <= 130; p *= radix, ++rounds) {
      const auto sheet = sheet_of(Collective::broadcast, fmt::format("binomial:radix={}", radix),
                                  Machine::uniform(static_cast<int>(p), 1));
      EXPECT_EQ(sheet.rounds, rounds);
      EXPECT_EQ(sheet.by_rank[0].messages, rounds * (radix - 1));
    }
  }
}

TEST(TreeCost, SegmentsArePassedOnWhileTheNextCome) {
  for (const int ranks : {2, 3, 8}) {
    const auto p = static_cast<std::uint64_t>(ranks);
    for (const Tree& tree : trees(p)) {
      const auto sheet = sheet_of(Collective::broadcast, fmt::format("{}:segment=24", tree.name),
                                  Machine::uniform(ranks, 1), 24 * 4 + 1);
      EXPECT_EQ(sheet.by_rank[0].messages, 5 * tree.children);
      EXPECT_EQ(sheet.total.messages, 5 * (p - 1));
      EXPECT_EQ(sheet.total.wire_bytes, (p - 1) * 97);
      EXPECT_EQ(sheet.rounds, tree.depth);  // no segment waits for all of the one before
    }
  }
}

TEST(TreeCost, OfScatterAndGatherIsTheClosedForm) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    for (const Tree& tree : trees(p)) {
      const auto machine = Machine::uniform(ranks, 1);
      const auto scatter = sheet_of(Collective::scatter, tree.name, machine);
      const auto gather = sheet_of(Collective::gather, tree.name, machine);
      EXPECT_EQ(scatter.rounds, tree.depth) << tree.name << " " << p;
      EXPECT_EQ(gather.rounds, tree.depth) << tree.name << " " << p;
      EXPECT_EQ(scatter.by_rank[0].messages, tree.children);
      EXPECT_EQ(scatter.by_rank[0].wire_bytes, (p - 1) * kBlock);
      EXPECT_EQ(scatter.total.messages, p - 1);
      EXPECT_EQ(gather.by_rank[0].messages, 0u);
      for (int rank = 1; rank < ranks; ++rank) EXPECT_EQ(gather.by_rank[rank].messages, 1u);
      const bool closed = std::string_view(tree.name) != "binary" &&
                          (std::string_view(tree.name) != "binomial" || std::has_single_bit(p));
      if (closed) {
        EXPECT_EQ(scatter.total.wire_bytes, blocks_on_edges(tree.name, p) * kBlock);
      }
      EXPECT_EQ(gather.total.wire_bytes, scatter.total.wire_bytes);
      for (int rank = 0; rank < ranks; ++rank) {
        const Cost& cost = scatter.by_rank[rank];
        const bool inner = rank > 0 && cost.messages > 0;
        EXPECT_EQ(cost.copied_bytes, inner || rank == 0 ? kBlock : 0);
        EXPECT_EQ(cost.scratch_bytes, inner ? cost.wire_bytes + kBlock : 0);
        EXPECT_EQ(gather.by_rank[rank].copied_bytes, cost.copied_bytes);
        EXPECT_EQ(gather.by_rank[rank].scratch_bytes, cost.scratch_bytes);
      }
    }
  }
}

void expect_allgather(const CostSheet& sheet, std::uint64_t p, std::uint64_t messages) {
  for (const Cost& cost : sheet.by_rank) {
    EXPECT_EQ(cost.messages, messages) << p;
    EXPECT_EQ(cost.wire_bytes, (p - 1) * kBlock) << p;
    EXPECT_EQ(cost.stage_bytes, 0u);
  }
}

void expect_in_place(const CostSheet& sheet) {
  for (const Cost& cost : sheet.by_rank) {
    EXPECT_EQ(cost.copied_bytes, kBlock);
    EXPECT_EQ(cost.scratch_bytes, 0u);
  }
}

// Thakur, section 4.1: T_ring = (p - 1) alpha + (p - 1) / p n beta.
TEST(AllgatherCost, OfTheRingIsThatOfThePaper) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    const auto sheet = sheet_of(Collective::allgather, "ring", Machine::uniform(ranks, 1));
    EXPECT_EQ(sheet.rounds, p - 1);
    expect_allgather(sheet, p, p - 1);
    expect_in_place(sheet);
  }
}

// Section 4.1.1: T_rec_dbl = lg p alpha + (p - 1) / p n beta; any p at most 2 ceil(lg p) steps.
TEST(AllgatherCost, OfRecursiveDoublingIsThatOfThePaper) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    const auto sheet = sheet_of(Collective::allgather, "doubling", Machine::uniform(ranks, 1));
    expect_in_place(sheet);
    if (std::has_single_bit(p)) {
      EXPECT_EQ(sheet.rounds, floor_lg(p));
      expect_allgather(sheet, p, floor_lg(p));
      continue;
    }
    EXPECT_LE(sheet.rounds, 2 * ceil_log(p)) << p;
    EXPECT_EQ(sheet.total.wire_bytes, p * (p - 1) * kBlock);
    for (const Cost& cost : sheet.by_rank) EXPECT_LE(cost.messages, 2 * ceil_log(p)) << p;
  }
}

// Section 4.1.2: T_bruck = ceil(lg p) alpha + (p - 1) / p n beta, for radix 2.
TEST(AllgatherCost, OfBruckIsTheClosedFormForAnyRadix) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    for (const std::uint64_t radix : {2, 3, 4, 100}) {
      const auto sheet = sheet_of(Collective::allgather, fmt::format("bruck:radix={}", radix),
                                  Machine::uniform(ranks, 1));
      const std::uint64_t base = std::min(radix, std::max<std::uint64_t>(p, 2));
      EXPECT_EQ(sheet.rounds, bruck_rounds(p, base)) << p << " radix " << radix;
      expect_allgather(sheet, p, digit_messages(p, base));
      for (const Cost& cost : sheet.by_rank) {
        EXPECT_LE(cost.copied_bytes, kBlock + 2 * cost.wire_bytes);
        EXPECT_LE(cost.scratch_bytes, cost.copied_bytes - kBlock);
      }
      if (radix == 2) expect_allgather(sheet, p, ceil_log(p));
    }
  }
}

TEST(AllgatherCost, OfNeighbourExchangeIsHalfTheRounds) {
  for (int ranks = 2; ranks <= kMost; ranks += 2) {
    const auto p = static_cast<std::uint64_t>(ranks);
    const auto sheet = sheet_of(Collective::allgather, "neighbor", Machine::uniform(ranks, 1));
    EXPECT_EQ(sheet.rounds, p / 2);
    expect_allgather(sheet, p, p / 2);
    expect_in_place(sheet);
  }
}

TEST(AllgatherCost, OfBineIsTheClosedForm) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    const auto sheet = sheet_of(Collective::allgather, "bine", Machine::uniform(ranks, 1));
    EXPECT_EQ(sheet.total.wire_bytes, p * (p - 1) * kBlock);
    const bool is_power = std::has_single_bit(p);
    for (const Cost& cost : sheet.by_rank) {
      EXPECT_LE(cost.messages, floor_lg(p) + (is_power ? 0 : 1)) << p;
      const std::uint64_t received = (p - 1) * kBlock;
      EXPECT_LE(cost.copied_bytes, kBlock + cost.wire_bytes + received) << p;
      EXPECT_LE(cost.scratch_bytes, cost.wire_bytes + received) << p;
      EXPECT_EQ(cost.stage_bytes, 0u);
    }
    if (is_power) {
      EXPECT_EQ(sheet.rounds, floor_lg(p));
      expect_allgather(sheet, p, floor_lg(p));
      continue;
    }
    EXPECT_LE(sheet.rounds, floor_lg(p) + 2) << p;
    EXPECT_GE(sheet.rounds, floor_lg(p) + 1) << p;
  }
}

/// Of a message that is taken apart a block has what is its own, and not all the others' as well;
/// and what packs a block again waits for that and the last one.
TEST(AllgatherCost, OfBineKnowsOfEachBlockWhenItIsThere) {
  constexpr int kRanks = 500;
  plan::Problem problem = plan::Problem::alltoall(kRanks, kBlock);
  problem.collective = Collective::allgather;
  plan::Builder builder(1, kRanks, kBlock, kRanks * kBlock);
  const Arrived arrived = bine_allgather(builder, team_of_all(problem, 1));
  for (std::size_t block = 0; block < kRanks; ++block) EXPECT_LE(arrived[block].size(), 1u);
  const plan::Plan plan = std::move(builder).finish();
  std::size_t waits = 0;
  for (plan::OpId op = 0; op < plan.ops().size(); ++op) waits += plan.after(op).size();
  EXPECT_LE(waits, 3 * plan.ops().size());
}

TEST(AllgatherCost, OfGatherAndBroadcastIsBoth) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    const auto machine = Machine::uniform(ranks, 1);
    const auto sheet = sheet_of(Collective::allgather, "gather-broadcast", machine);
    const auto gather = sheet_of(Collective::gather, "binomial", machine);
    EXPECT_EQ(sheet.rounds, 2 * floor_lg(p));
    EXPECT_EQ(sheet.total.messages, 2 * (p - 1));
    EXPECT_EQ(sheet.total.wire_bytes, gather.total.wire_bytes + (p - 1) * p * kBlock);
  }
}

// Section 4.2: T_vandegeijn = (lg p + p - 1) alpha + 2 (p - 1) / p n beta, which is what the root
// sends; the others get nothing twice.
TEST(BroadcastCost, ByPartsIsBelowThatOfThePaper) {
  for (int ranks = 2; ranks <= kMost; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    const std::uint64_t n = p * kBlock;
    for (const int root : {0, ranks - 1}) {
      const auto machine = Machine::uniform(ranks, 1);
      const auto ring = sheet_of(Collective::broadcast, "scatter-ring", machine, n, root);
      EXPECT_LE(ring.rounds, ceil_log(p) + p - 1);
      EXPECT_EQ(ring.by_rank[root].messages, ceil_log(p) + p - 1);
      EXPECT_EQ(ring.by_rank[root].wire_bytes, 2 * (p - 1) * kBlock);
      EXPECT_EQ(ring.total.wire_bytes, (p - 1) * n);
      EXPECT_EQ(ring.total.copied_bytes + ring.total.scratch_bytes, 0u);
      for (const Cost& cost : ring.by_rank) EXPECT_LE(cost.messages, ceil_log(p) + p - 1);
      const auto doubling = sheet_of(Collective::broadcast, "scatter-doubling", machine, n, root);
      EXPECT_LE(doubling.rounds, 3 * ceil_log(p));
      EXPECT_EQ(doubling.total.wire_bytes, (p - 1) * n);
    }
  }
}

TEST(BarrierCost, IsTheClosedForm) {
  for (int ranks = 1; ranks <= kMost; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    const auto machine = Machine::uniform(ranks, 1);
    const auto expect = [&](std::string_view name, std::uint64_t rounds, std::uint64_t messages) {
      const auto sheet = sheet_of(Collective::barrier, name, machine);
      EXPECT_EQ(sheet.rounds, rounds) << name << " " << p;
      EXPECT_EQ(sheet.total.messages, messages) << name << " " << p;
      EXPECT_EQ(sheet.total.wire_bytes, messages);
      EXPECT_EQ(sheet.total.copied_bytes + sheet.total.stage_bytes, 0u);
    };
    for (const std::uint64_t radix : {2, 3, 4}) {
      expect(fmt::format("dissemination:radix={}", radix),
             ceil_log(p, std::min(radix, std::max<std::uint64_t>(p, 2))),
             p * digit_messages(p, std::min(radix, std::max<std::uint64_t>(p, 2))));
    }
    expect("tournament", p > 1 ? floor_lg(p) + 1 : 0, 2 * (p - 1));
    expect("binomial", 2 * floor_lg(p), 2 * (p - 1));
    expect("binary", 2 * floor_lg(p), 2 * (p - 1));
    expect("sequential", p > 1 ? 2 : 0, 2 * (p - 1));
    expect("ring", 2 * (p - 1), 2 * (p - 1));
  }
}

TEST(BarrierCost, IsLinearInDependencies) {
  constexpr int kRanks = 3000;
  const auto machine = Machine::uniform(kRanks, 1);
  const auto algorithm = registry::Algorithm::parse(Collective::barrier, "sequential");
  const plan::Plan root = algorithm.plan({Collective::barrier, kRanks, 0, 0}, machine, 0);
  std::size_t dependencies = 0;
  for (plan::OpId op = 0; op < root.ops().size(); ++op) dependencies += root.after(op).size();
  EXPECT_LE(dependencies, 2u * kRanks);
}

TEST(BarrierCost, InsideANodeHasSignalsAlone) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (const char* name : {"dissemination", "tournament", "binomial", "sequential", "ring"}) {
      const auto sheet = sheet_of(Collective::barrier, name, Machine::uniform(1, ranks));
      EXPECT_EQ(sheet.total.local_messages + sheet.total.scratch_bytes, 0u);
      EXPECT_GE(sheet.total.signals, static_cast<std::uint64_t>(ranks));
    }
  }
}

/// The others tell the root that they leave, once each, when they know that all have come.
TEST(BarrierCost, OfWhichTheRootLeavesLastHasAMessageMoreOfEachOther) {
  for (const auto& machine :
       {Machine::uniform(1, 2), Machine::uniform(1, 7), Machine::uniform(3, 2)}) {
    const int ranks = machine.ranks();
    for (const char* name : {"dissemination:radix=8", "dissemination", "tournament", "ring"}) {
      const auto algorithm = registry::Algorithm::parse(Collective::barrier, name);
      plan::Problem problem{Collective::barrier, ranks, 0, 0};
      const auto of_any =
          plan::cost_sheet(machine.node_of_rank(), registry::plans_of(algorithm, problem, machine));
      problem.leaving = plan::Leaving::root_last;
      problem.root = ranks - 1;
      EXPECT_EQ(registry::flaws_of(algorithm, problem, machine), "");
      const auto plans = registry::plans_of(algorithm, problem, machine);
      const auto sheet = plan::cost_sheet(machine.node_of_rank(), plans);
      EXPECT_EQ(
          sheet.total.messages + sheet.total.signals,
          of_any.total.messages + of_any.total.signals + static_cast<std::uint64_t>(ranks - 1));
      for (int rank = 0; rank < ranks - 1; ++rank) {
        const plan::Plan& plan = plans[static_cast<std::size_t>(rank)];
        const auto last = static_cast<plan::OpId>(plan.ops().size() - 1);
        EXPECT_EQ(plan.ops()[last].peer, problem.root) << name;
        EXPECT_FALSE(plan.after(last).empty()) << name;
      }
    }
  }
}

}  // namespace
}  // namespace weft::gather::flat_cost_test
