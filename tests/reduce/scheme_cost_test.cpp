// The closed forms at the head of each scheme's file, against what its plans cost: startups
// (alpha), bytes sent (beta) and bytes reduced (gamma), each on its own.
#include "tests/reduce/cost_support.hpp"

namespace weft::reduce::scheme_cost_test {
namespace {

std::uint64_t ceil_log(int base, int nodes) {
  std::uint64_t rounds = 0;
  for (std::int64_t covered = 1; covered < nodes; covered *= base) ++rounds;
  return rounds;
}

// PiP-MColl III-A3: ceil(log_(P+1) N) rounds, with remainders too.
TEST(Cost, MultiObjectSchemes) {
  constexpr std::uint64_t n = 48;
  for (int places = 1; places <= 4; ++places) {
    for (int nodes = 1; nodes <= 17; ++nodes) {
      const auto machine = Machine::uniform(nodes, places);
      const auto bruck = sheet_of(Collective::allreduce, "multi-bruck", machine, n);
      const std::uint64_t rounds = ceil_log(places + 1, nodes);
      expect_steps(bruck, rounds, ceil_log(places + 1, nodes + 1) > rounds);
      for (const auto& cost : bruck.by_rank) EXPECT_LE(cost.messages, rounds);
      const auto doubling = sheet_of(Collective::allreduce, "multi-doubling", machine, n);
      std::int64_t power = 1;
      std::uint64_t whole = 0;
      while (power * (places + 1) <= nodes) power *= places + 1, ++whole;
      expect_steps(doubling, whole + (power == nodes ? 0 : 2), power == nodes);
    }
  }
  // III-B2: 2 (1 - 1/N) n bytes a node, in N rounds.
  for (const auto& [nodes, places] : {std::pair{3, 3}, {2, 4}, {5, 2}}) {
    const std::uint64_t bytes = 8 * number(nodes) * number(places) * number(places);
    const auto sheet =
        sheet_of(Collective::allreduce, "multi-ring", Machine::uniform(nodes, places), bytes);
    EXPECT_EQ(sheet.rounds, number(nodes));
    for (const auto& cost : sheet.by_node) {
      EXPECT_EQ(cost.wire_bytes, 2 * (bytes - bytes / number(nodes)));
      EXPECT_EQ(cost.messages, number(nodes - 1) * number(places + 1));
    }
  }
}

// Signals are all that it takes: one step of them, two copies and P - 1 reductions each.
TEST(Cost, EveryoneForItself) {
  constexpr std::uint64_t n = 48;
  for (int places = 2; places <= 9; ++places) {
    const auto sheet = sheet_of(Collective::allreduce, "everyone", Machine::uniform(1, places), n);
    EXPECT_EQ(sheet.rounds, 0u);
    EXPECT_EQ(sheet.local_rounds, 1u);
    for (const auto& cost : sheet.by_rank) {
      EXPECT_EQ(cost.signals, number(places - 1));
      EXPECT_EQ(cost.copied_bytes, 2 * n);
      EXPECT_EQ(cost.reduced_bytes, number(places - 1) * n);
      EXPECT_EQ(cost.stage_bytes, 64u);
    }
  }
}

TEST(Cost, Leaders) {
  constexpr int nodes = 4;
  constexpr int places = 4;
  const auto machine = Machine::uniform(nodes, places);
  constexpr std::uint64_t n = 1024;
  for (const int leaders : {1, 2, 4}) {
    const std::string name = "leader:leaders=" + std::to_string(leaders);
    const std::uint64_t part = n / number(leaders);
    const auto staged = sheet_of(Collective::allreduce, name, machine, n);
    const auto direct = sheet_of(Collective::allreduce, name + ",direct=1", machine, n);
    EXPECT_EQ(staged.rounds, 2u);
    EXPECT_EQ(direct.rounds, 2u);
    for (int rank = 0; rank < machine.ranks(); ++rank) {
      const auto& cost = staged.by_rank[number(rank)];
      const bool leads = rank % places % (places / leaders) == 0;
      EXPECT_EQ(cost.messages, leads ? 2u : 0u);
      EXPECT_EQ(cost.wire_bytes, leads ? 2 * part : 0);
      EXPECT_EQ(cost.reduced_bytes, leads ? (number(places - 1) + 2) * part : 0);
      EXPECT_EQ(cost.signals, number(leaders) + (leads ? number(places - 2) : 0));
      const auto& visiting = direct.by_rank[number(rank)];
      EXPECT_EQ(visiting.stage_bytes, leads ? n : 0);
      EXPECT_EQ(visiting.signals, cost.signals);
    }
    const auto scatter = sheet_of(Collective::reduce_scatter, name, machine, 64);
    EXPECT_EQ(scatter.rounds, number(nodes - 1));
    EXPECT_EQ(scatter.total.messages, number(nodes * (nodes - 1) * leaders));
    EXPECT_EQ(scatter.total.wire_bytes, number(nodes * (nodes - 1) * places) * 64);
    const auto scan = sheet_of(Collective::scan, name, machine, n);
    expect_steps(scan, 3, false);  // exscan of 4: 1 + ceil(lg 3)
  }
}

}  // namespace
}  // namespace weft::reduce::scheme_cost_test
