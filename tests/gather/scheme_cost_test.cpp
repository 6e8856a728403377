// The closed forms at the head of each hierarchical scheme's file, on equal nodes.
#include <gtest/gtest.h>

#include "tests/gather/cost_support.hpp"

namespace weft::gather::scheme_cost_test {
namespace {

/// Calls `check` for equal nodes in blocks and dealt out in turn: N, P, and the machine.
void for_each_machine(const auto& check) {
  for (int nodes = 1; nodes <= 9; ++nodes) {
    for (int ppn = 1; ppn <= 4; ++ppn) {
      for (const auto& machine : {Machine::uniform(nodes, ppn), Machine::cyclic(nodes, ppn)}) {
        SCOPED_TRACE(to_string(machine));
        check(static_cast<std::uint64_t>(nodes), static_cast<std::uint64_t>(ppn), machine);
      }
    }
  }
}

/// The numbers of leaders that divide P.
std::vector<std::uint64_t> leaders_of(std::uint64_t ppn) {
  std::vector<std::uint64_t> list;
  for (std::uint64_t k = 1; k <= ppn; ++k) {
    if (ppn % k == 0) list.push_back(k);
  }
  return list;
}

TEST(LeaderCost, OfABroadcastIsTheClosedForm) {
  for_each_machine([](std::uint64_t n, std::uint64_t p, const Machine& machine) {
    const std::uint64_t bytes = 12 * 64;  // whole lines for up to 4 leaders
    for (const std::uint64_t k : leaders_of(p)) {
      for (const bool direct : {false, true}) {
        const auto sheet =
            sheet_of(Collective::broadcast,
                     fmt::format("leader:leaders={},inside={}", k, direct ? "direct" : "staged"),
                     machine, bytes);
        EXPECT_EQ(sheet.rounds, floor_lg(n));
        EXPECT_EQ(sheet.total.messages, k * (n - 1));
        EXPECT_EQ(sheet.total.wire_bytes, bytes * (n - 1));
        EXPECT_EQ(sheet.total.scratch_bytes, 0u);
        for (const Cost& cost : sheet.by_node) {
          EXPECT_EQ(cost.copied_bytes, p == 1 ? 0 : (direct ? p - 1 : p) * bytes);
          EXPECT_EQ(cost.stage_bytes, p == 1 || direct ? 0 : bytes);
          EXPECT_EQ(cost.signals, (direct ? 2 : 1) * k * (p - 1));
        }
      }
    }
  });
}

TEST(LeaderCost, OfAnAllgatherIsTheClosedForm) {
  for_each_machine([](std::uint64_t n, std::uint64_t p, const Machine& machine) {
    const std::uint64_t all = n * p * kBlock;
    for (const std::uint64_t k : leaders_of(p)) {
      for (const bool direct : {false, true}) {
        const auto sheet = sheet_of(
            Collective::allgather,
            fmt::format("leader:leaders={},inside={}", k, direct ? "direct" : "staged"), machine);
        EXPECT_EQ(sheet.rounds, n - 1);
        EXPECT_EQ(sheet.total.messages, n * (n - 1) * k);
        EXPECT_EQ(sheet.total.wire_bytes, n * (n - 1) * p * kBlock);
        EXPECT_EQ(sheet.total.scratch_bytes, 0u);
        const std::uint64_t foreign = (n - 1) * p * kBlock;
        for (const Cost& cost : sheet.by_node) {
          EXPECT_EQ(cost.copied_bytes,
                    p == 1 ? kBlock : (direct ? p * all - foreign : p * (all + kBlock)));
          EXPECT_EQ(cost.stage_bytes, p == 1 || direct ? 0 : p * kBlock + foreign);
          EXPECT_EQ(cost.signals, (direct ? 2 : 1) * (p + k * (n - 1)) * (p - 1));
        }
      }
    }
  });
}

// The head of node_copies.cpp, on one node.
TEST(InsideCost, IsTheClosedForm) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const auto p = static_cast<std::uint64_t>(ranks);
    const std::uint64_t n = p * kBlock;
    const std::uint64_t m = kBlock;
    struct Expected {
      Collective collective;
      std::uint64_t block;
      std::uint64_t staged_copies;
      std::uint64_t direct_copies;
      std::uint64_t stage;
      std::uint64_t signals;
    };
    for (const Expected& expected :
         {Expected{Collective::broadcast, n, p * n, (p - 1) * n, n, p - 1},
          Expected{Collective::scatter, m, 2 * (n - m) + m, n, n - m, p - 1},
          Expected{Collective::gather, m, 2 * (n - m) + m, n, n - m, p - 1},
          Expected{Collective::allgather, m, p * (m + n), p * n, n, p * (p - 1)}}) {
      const auto machine = Machine::uniform(1, ranks);
      for (const int root : {0, ranks - 1}) {
        const auto staged = sheet_of(expected.collective, "leader", machine, expected.block,
                                     is_rooted(expected.collective) ? root : 0);
        EXPECT_EQ(staged.total.copied_bytes, expected.staged_copies);
        EXPECT_EQ(staged.total.stage_bytes, expected.stage);
        EXPECT_EQ(staged.total.signals, expected.signals);
        const auto direct = sheet_of(expected.collective, "leader:inside=direct", machine,
                                     expected.block, is_rooted(expected.collective) ? root : 0);
        EXPECT_EQ(direct.total.copied_bytes, expected.direct_copies);
        EXPECT_EQ(direct.total.stage_bytes, 0u);
        EXPECT_EQ(direct.total.signals, 2 * expected.signals);
        EXPECT_EQ(staged.total.local_messages + direct.total.local_messages, 0u);
      }
    }
  }
}

/// What the step between nodes copies on top: it passes on what it has unpacked. Blocks of a node
/// side by side.
TEST(LeaderCost, CopiesOfScatterAndGatherAreTheClosedForm) {
  for (std::uint64_t n = 2; n <= 9; ++n) {
    for (std::uint64_t p = 1; p <= 4; ++p) {
      for (const std::uint64_t k : leaders_of(p)) {
        const auto machine = Machine::uniform(static_cast<int>(n), static_cast<int>(p));
        for (const Collective collective : {Collective::scatter, Collective::gather}) {
          const auto sheet = sheet_of(collective, fmt::format("leader:leaders={}", k), machine);
          const std::uint64_t own = p * kBlock;
          const std::uint64_t bundles = (k - 1) * (n - 1) * own / k;
          if (k == 1 || k == p) {
            EXPECT_EQ(sheet.by_node[0].copied_bytes, bundles + 2 * own - kBlock);
          }
          for (std::uint64_t node = 1; node < n; ++node) {
            const bool passes_on = sheet.by_node[node].scratch_bytes > 0;
            EXPECT_EQ(sheet.by_node[node].copied_bytes, (k < p ? own : 0) + (passes_on ? own : 0));
          }
        }
      }
    }
  }
}

TEST(LeaderCost, OfScatterAndGatherIsTheClosedForm) {
  for_each_machine([](std::uint64_t n, std::uint64_t p, const Machine& machine) {
    for (const std::uint64_t k : leaders_of(p)) {
      const std::string name = fmt::format("leader:leaders={}", k);
      const auto scatter = sheet_of(Collective::scatter, name, machine);
      const auto gather = sheet_of(Collective::gather, name, machine);
      const std::uint64_t foreign = (n - 1) * p * kBlock;
      EXPECT_EQ(scatter.rounds, floor_lg(n));
      EXPECT_EQ(gather.rounds, floor_lg(n));
      EXPECT_EQ(scatter.total.messages, k * (n - 1));
      EXPECT_EQ(gather.total.messages, k * (n - 1));
      EXPECT_EQ(scatter.by_node[0].wire_bytes, foreign);
      EXPECT_EQ(scatter.by_node[0].messages, k * ceil_log(n));
      const std::uint64_t bundles = (k - 1) * foreign / k;
      EXPECT_EQ(scatter.by_node[0].stage_bytes, bundles + (p - 1) * kBlock);
      EXPECT_EQ(gather.by_node[0].stage_bytes, bundles + (p - 1) * kBlock);
      EXPECT_EQ(scatter.by_node[0].signals, (p - 1) + (n > 1 ? k - 1 : 0));
      EXPECT_EQ(gather.by_node[0].signals, (p - 1) + (n > 1 ? k - 1 : 0));
      for (std::uint64_t node = 1; node < n; ++node) {
        for (const Cost& cost : {scatter.by_node[node], gather.by_node[node]}) {
          EXPECT_EQ(cost.stage_bytes, k < p ? p * kBlock : 0);
          EXPECT_EQ(cost.signals, p - k);
        }
        EXPECT_EQ(gather.by_node[node].messages, k);
      }
    }
  });
}

TEST(LeaderCost, TheStepBetweenNodesKeepsItsRoundsAndMessages) {
  constexpr int kWidth = 3;
  for (const Collective collective : kCollectives) {
    for (const auto* flat : registry::flat_algorithms(collective)) {
      for (const int nodes : {2, 3, 5, 8}) {
        const std::uint64_t block = collective == Collective::broadcast ? kBlock * 120 : kBlock;
        const auto alone = sheet_of(collective, flat->name, Machine::uniform(nodes, 1), block);
        const auto sheet = sheet_of(collective, fmt::format("leader:between={}", flat->name),
                                    Machine::uniform(nodes, kWidth), block);
        EXPECT_EQ(sheet.rounds, alone.rounds) << flat->name << " " << nodes;
        EXPECT_EQ(sheet.total.messages, alone.total.messages);
        const bool blocks =
            collective != Collective::broadcast && collective != Collective::barrier;
        EXPECT_EQ(sheet.total.wire_bytes, alone.total.wire_bytes * (blocks ? kWidth : 1));
        EXPECT_EQ(sheet.total.local_messages, 0u);
      }
    }
  }
}

TEST(LeaderCost, OfABarrierIsTheClosedForm) {
  for_each_machine([](std::uint64_t n, std::uint64_t p, const Machine& machine) {
    const auto sheet = sheet_of(Collective::barrier, "leader", machine);
    EXPECT_EQ(sheet.rounds, ceil_log(n));
    EXPECT_EQ(sheet.by_rank[0].messages, ceil_log(n));
    EXPECT_EQ(sheet.total.messages, n * ceil_log(n));
    for (const Cost& cost : sheet.by_node) EXPECT_EQ(cost.signals, 2 * (p - 1));
  });
}

// The root hears all others of its node before it lets them go.
TEST(LeaderCost, OfABarrierIsTheRootsOnItsNode) {
  const Machine machine = Machine::uniform(2, 3);
  const auto algorithm = registry::Algorithm::parse(Collective::barrier, "leader");
  for (int root = 0; root < 6; ++root) {
    plan::Problem problem{Collective::barrier, 6, 0, 0};
    problem.root = root;
    const int other = root < 3 ? 3 : 0;
    for (int rank = 0; rank < 6; ++rank) {
      const bool leads = rank == root || rank == other;
      const plan::Plan plan = algorithm.plan(problem, machine, rank);
      const auto signals = std::ranges::count(plan.ops(), plan::OpKind::signal, &plan::Op::kind);
      EXPECT_EQ(signals, leads ? 2 : 1) << "rank " << rank << ", root " << root;
    }
  }
}

// Huang, section III-A2: alpha_e ceil(log_(P+1) N).
TEST(MultiObjectCost, OfAnAllgatherIsTheClosedForm) {
  for_each_machine([](std::uint64_t n, std::uint64_t p, const Machine& machine) {
    if (n == 1) return;
    const auto sheet = sheet_of(Collective::allgather, "multi-object", machine);
    const std::uint64_t rounds = ceil_log(n, p + 1);
    EXPECT_EQ(sheet.rounds, rounds);
    for (const Cost& cost : sheet.by_rank) {
      EXPECT_LE(cost.messages, rounds);
      EXPECT_EQ(cost.copied_bytes, kBlock + n * p * kBlock);
      EXPECT_EQ(cost.signals, ceil_log(p) * (rounds + 1));
      EXPECT_EQ(cost.scratch_bytes, 0u);
    }
    for (const Cost& cost : sheet.by_node) {
      EXPECT_EQ(cost.messages, digit_messages(n, p + 1));
      EXPECT_EQ(cost.wire_bytes, (n - 1) * p * kBlock);
      EXPECT_EQ(cost.stage_bytes, n * p * kBlock);
    }
  });
}

TEST(MultiObjectCost, OfABarrierIsTheClosedForm) {
  for_each_machine([](std::uint64_t n, std::uint64_t p, const Machine& machine) {
    const auto sheet = sheet_of(Collective::barrier, "multi-object", machine);
    const std::uint64_t rounds = ceil_log(n, p + 1);
    EXPECT_EQ(sheet.rounds, rounds);
    for (const Cost& cost : sheet.by_rank) {
      EXPECT_LE(cost.messages, rounds);
      EXPECT_EQ(cost.signals, ceil_log(p) * (rounds + 1));
    }
  });
}

// Section III-A1: alpha_e ceil(log_(P+1) N) and C_b (N - 1) P beta_e.
TEST(MultiObjectCost, OfBroadcastAndScatterIsTheClosedForm) {
  for_each_machine([](std::uint64_t n, std::uint64_t p, const Machine& machine) {
    const auto broadcast = sheet_of(Collective::broadcast, "multi-object", machine);
    const auto scatter = sheet_of(Collective::scatter, "multi-object", machine);
    const std::uint64_t rounds = ceil_log(n, p + 1);
    EXPECT_LE(broadcast.rounds, rounds);
    EXPECT_LE(scatter.rounds, rounds);
    EXPECT_EQ(broadcast.total.messages, n - 1);
    EXPECT_EQ(broadcast.total.wire_bytes, (n - 1) * kBlock);
    EXPECT_EQ(scatter.total.messages, n - 1);
    EXPECT_EQ(scatter.by_node[0].wire_bytes, (n - 1) * p * kBlock);
    for (std::uint64_t rank = 0; rank < n * p; ++rank) {
      EXPECT_LE(broadcast.by_rank[rank].messages, rounds);
      EXPECT_LE(scatter.by_rank[rank].messages, rounds);
    }
    for (std::uint64_t node = 0; node < n; ++node) {
      const Cost& cost = broadcast.by_node[node];
      EXPECT_EQ(cost.copied_bytes, p == 1 ? 0 : p * kBlock);
      EXPECT_EQ(cost.stage_bytes, p == 1 ? 0 : kBlock);
      EXPECT_EQ(cost.signals, p - 1);
      if (node == 0) continue;
      const bool leaf = scatter.by_node[node].messages == 0;
      EXPECT_EQ(scatter.by_node[node].copied_bytes, p == 1 && leaf ? 0 : p * kBlock);
      EXPECT_EQ(scatter.by_node[node].signals, p - 1);
    }
  });
}

TEST(MultiObjectCost, OfTheRootOfAScatterIsTheClosedForm) {
  for (std::uint64_t n = 1; n <= 17; ++n) {
    for (std::uint64_t p = 1; p <= 4; ++p) {
      const auto machine = Machine::uniform(static_cast<int>(n), static_cast<int>(p));
      const auto sheet = sheet_of(Collective::scatter, "multi-object", machine);
      const std::uint64_t by_peers = sheet.by_node[0].wire_bytes - sheet.by_rank[0].wire_bytes;
      const std::uint64_t inside = 2 * p * kBlock - kBlock;
      EXPECT_EQ(sheet.by_rank[0].copied_bytes + (p - 1) * kBlock, by_peers + inside);
      EXPECT_EQ(sheet.by_rank[0].stage_bytes, by_peers + (p - 1) * kBlock);
      EXPECT_EQ(sheet.by_node[0].signals,
                p - 1 + sheet.by_node[0].messages - sheet.by_rank[0].messages);
      const auto direct = sheet_of(Collective::scatter, "multi-object:inside=direct", machine);
      EXPECT_EQ(direct.by_node[0].copied_bytes, by_peers + p * kBlock);
      EXPECT_EQ(direct.by_rank[0].copied_bytes, kBlock);
      EXPECT_EQ(direct.by_rank[0].stage_bytes, 0U);
      EXPECT_EQ(direct.by_node[0].stage_bytes, by_peers);
      EXPECT_EQ(direct.by_node[0].signals, 2 * sheet.by_node[0].signals);
      if (n % (p + 1) == 0 && ceil_log(n, p + 1) == 1) {
        EXPECT_EQ(by_peers, (p - 1) * kBlock * p);
      }
    }
  }
}

}  // namespace
}  // namespace weft::gather::scheme_cost_test
