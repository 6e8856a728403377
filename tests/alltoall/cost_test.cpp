// The closed forms at the head of each algorithm's file, against what its plans cost.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>

#include "tests/alltoall/cost_support.hpp"

namespace weft::alltoall::cost_test {
namespace {

using hierarchy::Machine;
using plan::CostSheet;

/// ceil(log_radix n), less the last when none of its blocks has moved before.
std::uint64_t bruck_rounds(int n, int radix) {
  std::uint64_t rounds = 0;
  std::int64_t weight = 1;
  for (; weight < n; weight *= radix) ++rounds;
  const std::int64_t last = weight / radix;
  return rounds > 1 && n <= last + last / radix ? rounds - 1 : rounds;
}

std::uint64_t bruck_messages(int n, int radix) {
  int messages = 0;
  for (std::int64_t weight = 1; weight < n; weight *= radix) {
    const int others = static_cast<int>((n + weight - 1) / weight) - 1;
    messages += std::min(radix - 1, others);
  }
  return static_cast<std::uint64_t>(messages);
}

/// The non-zero digits of 1 .. n-1: how often a member sends a block.
std::uint64_t bruck_blocks(int n, int radix) {
  std::uint64_t digits = 0;
  for (int i = 1; i < n; ++i) {
    for (int rest = i; rest > 0; rest /= radix) digits += rest % radix != 0;
  }
  return digits;
}

TEST(FlatCost, DirectAlgorithmsSendEveryBlockOnce) {
  for (int p = 1; p <= 33; ++p) {
    for (const char* name : {"isend", "pairwise-ring", "pairwise-xor"}) {
      const CostSheet sheet = sheet_of(name, Machine::uniform(p, 1));
      const std::uint64_t others = static_cast<std::uint64_t>(p - 1);
      for (const plan::Cost& cost : sheet.by_rank) {
        EXPECT_EQ(cost.messages, others);
        EXPECT_EQ(cost.wire_bytes, others * kBlock);
        EXPECT_EQ(cost.peers, others);
        EXPECT_EQ(cost.copied_bytes, kBlock);
        EXPECT_EQ(cost.stage_bytes + cost.scratch_bytes + cost.signals, 0u);
      }
    }
  }
}

TEST(FlatCost, RoundsOfTheDirectAlgorithms) {
  for (int p = 2; p <= 33; ++p) {
    const auto machine = Machine::uniform(p, 1);
    const auto others = static_cast<std::uint64_t>(p - 1);
    EXPECT_EQ(sheet_of("isend", machine).rounds, 1u);
    EXPECT_EQ(sheet_of("pairwise-ring", machine).rounds, others);
    const auto power = std::bit_ceil(static_cast<std::uint64_t>(p));
    EXPECT_GE(sheet_of("pairwise-xor", machine).rounds, others);
    EXPECT_LE(sheet_of("pairwise-xor", machine).rounds, power - 1);
  }
}

TEST(FlatCost, MessagesWithinANodeAreLocal) {
  for (const char* name : {"isend", "pairwise-ring", "pairwise-xor"}) {
    for (const plan::Cost& cost : sheet_of(name, Machine::uniform(3, 4)).by_rank) {
      EXPECT_EQ(cost.messages, 8u);
      EXPECT_EQ(cost.local_messages, 3u);
    }
  }
}

TEST(BruckCost, IsTheClosedFormForAnyRadix) {
  for (int p = 1; p <= 70; ++p) {
    for (const int radix : {2, 3, 4, 8, 100}) {
      const CostSheet sheet =
          sheet_of("bruck:radix=" + std::to_string(radix), Machine::uniform(p, 1));
      EXPECT_EQ(sheet.rounds, bruck_rounds(p, radix));
      for (const plan::Cost& cost : sheet.by_rank) {
        EXPECT_EQ(cost.messages, bruck_messages(p, radix)) << p << " ranks, radix " << radix;
        EXPECT_EQ(cost.wire_bytes, kBlock * bruck_blocks(p, radix));
        EXPECT_LE(cost.copied_bytes, kBlock + 2 * cost.wire_bytes);
        EXPECT_LE(cost.scratch_bytes, 2 * (cost.wire_bytes + 63 * cost.messages));
        EXPECT_EQ(cost.stage_bytes, 0u);
      }
    }
  }
}

// Thakur, section 4.3: lg p startups and (n / 2) lg p bytes for powers of two, n = p blocks; else
// ceil(lg p) startups and at most (n / 2) floor(lg p) + (n / p) (p - 2^floor(lg p)) bytes.
TEST(BruckCost, IsThatOfThePaperForRadix2) {
  for (int p = 2; p <= 128; p += p < 70 ? 1 : 29) {
    const auto cost = sheet_of("bruck", Machine::uniform(p, 1)).by_rank.front();
    const auto n = static_cast<std::uint64_t>(p) * kBlock;
    const auto power = std::bit_floor(static_cast<std::uint64_t>(p));
    const auto lg = static_cast<std::uint64_t>(std::countr_zero(power));
    if (power == static_cast<std::uint64_t>(p)) {
      EXPECT_EQ(bruck_rounds(p, 2), lg);
      EXPECT_EQ(cost.messages, lg);
      EXPECT_EQ(cost.wire_bytes, n / 2 * lg);
    } else {
      EXPECT_EQ(cost.messages, lg + 1);
      EXPECT_LE(cost.wire_bytes, n * lg / 2 + (p - power) * kBlock);
    }
  }
}

/// The factors of p by hand: primes from the largest down, each to the first product that it fits.
std::vector<std::uint64_t> factors_by_hand(std::uint64_t p, std::uint64_t radix) {
  std::vector<std::uint64_t> products;
  for (std::uint64_t prime = p; prime >= 2; --prime) {
    for (; p % prime == 0; p /= prime) {
      std::uint64_t divisor = 2;
      while (prime % divisor != 0) ++divisor;
      if (divisor != prime) break;
      std::size_t at = 0;
      while (at < products.size() && products[at] * prime > radix) ++at;
      if (at == products.size()) products.push_back(1);
      products[at] *= prime;
    }
  }
  return products;
}

TEST(FactorsCost, IsTheClosedFormForAnyRadix) {
  for (int ranks = 1; ranks <= 96; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    for (const std::uint64_t radix : {2, 3, 8, 100}) {
      const CostSheet sheet =
          sheet_of("factors:radix=" + std::to_string(radix), Machine::uniform(ranks, 1));
      const auto factors = factors_by_hand(p, radix);
      std::uint64_t messages = 0;
      std::uint64_t sent = 0;
      std::uint64_t kept = p == 1 ? 1 : 0;
      for (const std::uint64_t factor : factors) {
        messages += factor - 1;
        sent += p - p / factor;
        kept += p / factor;
      }
      EXPECT_EQ(sheet.rounds, factors.size()) << p << " ranks, radix " << radix;
      const std::uint64_t buffers = std::min<std::uint64_t>(factors.size(), 3);
      for (const plan::Cost& cost : sheet.by_rank) {
        EXPECT_EQ(cost.messages, messages) << p << " ranks, radix " << radix;
        EXPECT_EQ(cost.wire_bytes, sent * kBlock);
        EXPECT_EQ(cost.copied_bytes, kept * kBlock);
        EXPECT_EQ(cost.scratch_bytes, p == 1 ? 0 : (buffers - 1) * rounded(p * kBlock));
        EXPECT_EQ(cost.stage_bytes, 0u);
      }
    }
  }
}

TEST(BruckCost, CopiesFewTimesWhatItPacks) {
  // Packing n/2 blocks one by one in each of lg p rounds would be 2304 ops.
  const auto machine = Machine::uniform(512, 1);
  const auto plan = parse("bruck").plan(plan::Problem::alltoall(512, 8), machine, 100);
  EXPECT_LT(plan.ops().size(), 512u + 100u);
}

/// What the headers of the schemes say of one rank, with isend between nodes.
struct Place {
  std::uint64_t local;       // P
  std::uint64_t remote;      // R_all
  std::uint64_t represents;  // R
  std::uint64_t nodes;
  std::uint64_t peers_that_represent;
};

Place place_of(const Machine& machine, int rank) {
  Place place = {};
  place.local = machine.ranks_on_node_of(rank);
  place.remote = machine.ranks() - place.local;
  place.represents = represented(machine, rank);
  place.nodes = machine.nodes();
  for (const int peer : machine.ranks_on(machine.node_of(rank))) {
    place.peers_that_represent += peer != rank && represented(machine, peer) > 0;
  }
  return place;
}

plan::Cost expected_sa(const Place& at, bool direct) {
  const bool alone = at.local == 1;
  plan::Cost cost;
  cost.messages = at.represents;
  cost.wire_bytes = at.represents * at.local * kBlock;
  const std::uint64_t aggregated = direct ? at.represents * at.local : at.remote;
  cost.copied_bytes = ((alone ? 0 : aggregated) + (direct ? at.local : 2 * at.local - 1)) * kBlock;
  cost.stage_bytes = rounded(alone ? 0 : at.represents * at.local * kBlock) +
                     (direct ? 0 : rounded((at.local - 1) * kBlock));
  cost.signals = direct ? 2 * (at.local - 1) : at.peers_that_represent + at.local - 1;
  return cost;
}

plan::Cost expected_rd(const Place& at, bool direct) {
  const bool alone = at.local == 1;
  plan::Cost cost;
  cost.messages = at.nodes - 1;
  cost.wire_bytes = at.remote * kBlock;
  cost.copied_bytes = ((alone ? 0 : at.remote) + (direct ? at.local : 2 * at.local - 1)) * kBlock;
  cost.stage_bytes = rounded(alone ? 0 : at.represents * at.local * kBlock) +
                     (direct ? 0 : rounded((at.local - 1) * kBlock));
  cost.signals = (at.represents > 0 ? at.local - 1 : 0) + (direct ? 2 : 1) * (at.local - 1);
  return cost;
}

/// Scratch and peers are not compared: with interleaved ranks blocks may need packing.
std::string difference(const plan::Cost& cost, const plan::Cost& expected) {
  std::string text;
  const auto compare = [&](std::string_view what, std::uint64_t is, std::uint64_t should) {
    if (is != should) text += fmt::format("{} {}, expected {}; ", what, is, should);
  };
  compare("messages", cost.messages, expected.messages);
  compare("wire bytes", cost.wire_bytes, expected.wire_bytes);
  compare("local messages", cost.local_messages, expected.local_messages);
  compare("copied", cost.copied_bytes, expected.copied_bytes);
  compare("stage", cost.stage_bytes, expected.stage_bytes);
  compare("signals", cost.signals, expected.signals);
  return text;
}

void check_scheme(const Machine& machine, std::string_view algorithm, const auto& expected) {
  const CostSheet sheet = sheet_of(algorithm, machine);
  const std::uint64_t rounds = machine.nodes() > 1 ? 1 : 0;
  if (sheet.rounds != rounds) RC_FAIL(fmt::format("{} rounds", sheet.rounds));
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    // What is packed or unpacked because it does not lie at equal distances is on top.
    plan::Cost should = expected(rank);
    const plan::Cost& cost = sheet.by_rank[rank];
    if (cost.scratch_bytes > 0) should.copied_bytes = cost.copied_bytes;
    const std::string text = difference(cost, should);
    if (!text.empty()) {
      RC_FAIL(fmt::format("{} on {}, rank {}: {}", algorithm, to_string(machine), rank, text));
    }
  }
}

RC_GTEST_PROP(SchemeCost, OfSendAggregationIsTheClosedFormOnAnyMachine, ()) {
  const auto machine = any_machine();
  for (const bool direct : {false, true}) {
    check_scheme(machine, direct ? "sa:direct=1" : "sa",
                 [&](int rank) { return expected_sa(place_of(machine, rank), direct); });
  }
}

RC_GTEST_PROP(SchemeCost, OfReceiveDistributionIsTheClosedFormOnAnyMachine, ()) {
  const auto machine = any_machine();
  for (const bool direct : {false, true}) {
    check_scheme(machine, direct ? "rd:direct=1" : "rd",
                 [&](int rank) { return expected_rd(place_of(machine, rank), direct); });
  }
}

/// The size and the first place of the group of `rank` among `groups` of its node.
std::pair<int, int> group_of(const Machine& machine, int rank, int leaders) {
  const int local = machine.ranks_on_node_of(rank);
  const int count = std::min(leaders, local);
  int first = 0;
  for (int group = 0;; ++group) {
    const int size = local / count + (group < local % count);
    if (machine.place_of(rank) < first + size) return {size, first};
    first += size;
  }
}

plan::Cost expected_leader(const Machine& machine, int rank, int leaders, bool direct) {
  const auto at = place_of(machine, rank);
  const auto [size, first] = group_of(machine, rank, leaders);
  const auto group = static_cast<std::uint64_t>(size);
  const bool leads = machine.place_of(rank) == first;
  const bool shared = group > 1 && at.remote > 0;
  plan::Cost cost;
  for (int node = 0; node < machine.nodes() && leads; ++node) {
    if (node == machine.node_of(rank)) continue;
    cost.messages += std::min<std::size_t>(leaders, machine.ranks_on(node).size());
  }
  cost.wire_bytes = leads ? group * at.remote * kBlock : 0;
  std::uint64_t copied = direct ? at.local : 2 * at.local - 1;
  if (shared) copied += at.remote + (direct ? (leads ? group * at.remote : 0) : at.remote);
  cost.copied_bytes = copied * kBlock;
  cost.stage_bytes = direct ? 0 : rounded((at.local - 1) * kBlock);
  if (shared && leads) cost.stage_bytes += 2 * rounded(group * at.remote * kBlock);
  cost.signals = (direct ? 2 : 1) * (at.local - 1);
  if (shared) cost.signals += leads ? group - 1 : (direct ? 0 : 1);
  return cost;
}

RC_GTEST_PROP(SchemeCost, OfLeadersIsTheClosedFormOnAnyMachine, ()) {
  const auto machine = any_machine();
  const int leaders = *rc::gen::inRange(1, 12).as("leaders");
  for (const bool direct : {false, true}) {
    check_scheme(machine, fmt::format("leader:leaders={},direct={}", leaders, direct ? 1 : 0),
                 [&](int rank) { return expected_leader(machine, rank, leaders, direct); });
  }
}

// Kumar, section 5: a rank talks to one rank of every other node, so that messages between nodes
// drop by the ranks per node; leaders alone send.
TEST(SchemeCost, OnEqualNodesIsThatOfThePaper) {
  for (int nodes = 1; nodes <= 6; ++nodes) {
    for (int ppn = 1; ppn <= 5; ++ppn) {
      for (const auto& machine : {Machine::uniform(nodes, ppn), Machine::cyclic(nodes, ppn)}) {
        const std::uint64_t n = nodes;
        const std::uint64_t p = ppn;
        for (const char* name : {"sa", "rd"}) {
          const CostSheet sheet = sheet_of(name, machine);
          EXPECT_EQ(sheet.total.messages * p, sheet_of("isend", machine).total.messages);
          EXPECT_EQ(sheet.total.wire_bytes, sheet_of("isend", machine).total.wire_bytes);
          for (const plan::Cost& cost : sheet.by_rank) {
            EXPECT_EQ(cost.messages, n - 1);
            EXPECT_EQ(cost.wire_bytes, (n - 1) * p * kBlock);
            EXPECT_EQ(cost.peers, n - 1);  // connections
            EXPECT_EQ(cost.scratch_bytes, 0u);
          }
        }
        const CostSheet sheet = sheet_of("leader", machine);
        EXPECT_EQ(sheet.total.messages, n * (n - 1));
        for (const plan::Cost& cost : sheet.by_node) {
          EXPECT_EQ(cost.messages, n - 1);
          EXPECT_EQ(cost.wire_bytes, (n - 1) * p * p * kBlock);
        }
      }
    }
  }
}

TEST(SchemeCost, TheStepBetweenNodesKeepsItsRoundsAndMessages) {
  constexpr int ppn = 3;
  for (const int nodes : {2, 3, 5, 8}) {
    for (const char* step : {"isend", "bruck", "pairwise-ring", "pairwise-xor"}) {
      const CostSheet flat = sheet_of(step, Machine::uniform(nodes, 1));
      for (const char* scheme : {"sa", "rd"}) {
        const CostSheet sheet =
            sheet_of(fmt::format("{}:between={}", scheme, step), Machine::uniform(nodes, ppn));
        EXPECT_EQ(sheet.rounds, flat.rounds);
        for (const plan::Cost& cost : sheet.by_rank) {
          EXPECT_EQ(cost.messages, flat.by_rank[0].messages);
          EXPECT_EQ(cost.wire_bytes, flat.by_rank[0].wire_bytes * ppn);
          EXPECT_EQ(cost.local_messages, 0u);
        }
      }
      const CostSheet sheet =
          sheet_of(fmt::format("leader:between={}", step), Machine::uniform(nodes, ppn));
      EXPECT_EQ(sheet.rounds, flat.rounds);
      EXPECT_EQ(sheet.by_rank[0].messages, flat.by_rank[0].messages);
      EXPECT_EQ(sheet.by_rank[0].wire_bytes, flat.by_rank[0].wire_bytes * ppn * ppn);
    }
  }
}

TEST(SchemeCost, OnOneNodeEverySchemeIsTheSameLeanExchange) {
  for (int p = 1; p <= 9; ++p) {
    const auto machine = Machine::uniform(1, p);
    const auto problem = plan::Problem::alltoall(p, kBlock);
    const auto sa = plans_of(parse("sa"), problem, machine);
    EXPECT_EQ(plans_of(parse("rd"), problem, machine), sa);
    EXPECT_EQ(plans_of(parse("leader"), problem, machine), sa);
    for (const plan::Plan& plan : sa) {
      // p - 1 signals, waits and copies out, at most two copies in, and the own block.
      EXPECT_LE(plan.ops().size(), static_cast<std::size_t>(3 * (p - 1) + 2 + 1));
    }
  }
}

}  // namespace
}  // namespace weft::alltoall::cost_test
