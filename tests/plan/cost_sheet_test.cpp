#include "plan/inspect/cost_sheet.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/error.hpp"
#include "plan/builder.hpp"
#include "tests/plan/cases.hpp"
#include "tests/plan/draft.hpp"

namespace weft::plan::testing::cost_sheet_test {
namespace {

CostSheet cost_of(const Case& plans) {
  return cost_sheet(plans.node_of_rank, plans.plans);
}

TEST(Cost, OfDirectIsOneRound) {
  const CostSheet sheet = cost_of(direct(Problem::alltoall(6, 64), {0, 0, 0, 0, 1, 1}));
  const Cost rank0{.messages = 2,
                   .wire_bytes = 128,
                   .local_messages = 3,
                   .local_bytes = 192,
                   .copied_bytes = 64,
                   .peers = 2};
  EXPECT_EQ(sheet.by_rank[0], rank0);
  const Cost rank5{.messages = 4,
                   .wire_bytes = 256,
                   .local_messages = 1,
                   .local_bytes = 64,
                   .copied_bytes = 64,
                   .peers = 4};
  EXPECT_EQ(sheet.by_rank[5], rank5);
  const Cost node1{.messages = 8,
                   .wire_bytes = 512,
                   .local_messages = 2,
                   .local_bytes = 128,
                   .copied_bytes = 128,
                   .peers = 8};
  EXPECT_EQ(sheet.by_node[1], node1);
  EXPECT_EQ(sheet.total.messages, 16u);
  EXPECT_EQ(sheet.total.local_messages, 14u);
  EXPECT_EQ(sheet.rounds, 1u);
  EXPECT_EQ(sheet.local_rounds, 1u);
}

TEST(Cost, OfARingIsARoundForEachStep) {
  for (int ranks = 1; ranks < 9; ++ranks) {
    const auto steps = static_cast<std::uint64_t>(ranks - 1);
    const CostSheet apart = cost_of(ring(Problem::alltoall(ranks, 8), even_nodes(ranks, 1)));
    EXPECT_EQ(apart.rounds, steps);
    EXPECT_EQ(apart.local_rounds, 0u);
    EXPECT_EQ(apart.total.messages, steps * static_cast<std::uint64_t>(ranks));
    const CostSheet together = cost_of(ring(Problem::alltoall(ranks, 8), even_nodes(1, ranks)));
    EXPECT_EQ(together.rounds, 0u);
    EXPECT_EQ(together.local_rounds, steps);
  }
}

TEST(Cost, OfBruckIsLogarithmic) {
  const CostSheet sheet = cost_of(bruck(Problem::alltoall(8, 64), even_nodes(8, 1)));
  EXPECT_EQ(sheet.rounds, 3u);
  EXPECT_EQ(sheet.by_rank[0].messages, 3u);
  EXPECT_EQ(sheet.by_rank[0].wire_bytes, 3u * 4u * 64u);  // (p / 2) lg p blocks
  EXPECT_EQ(sheet.by_rank[0].peers, 5u);  // 1, 2, 4 to send to, 7, 6, 4 to hear from
  EXPECT_EQ(sheet.by_rank[0].scratch_bytes, 8u * 64u + 6u * 4u * 64u);
}

TEST(Cost, OfAggregationIsOneMessageForEachOtherNode) {
  const CostSheet sheet = cost_of(aggregated(Problem::alltoall(12, 64), even_nodes(3, 4)));
  EXPECT_EQ(sheet.rounds, 1u);
  EXPECT_EQ(sheet.local_rounds, 1u);
  const Cost& rank = sheet.by_rank[5];
  EXPECT_EQ(rank.messages, 2u);
  EXPECT_EQ(rank.wire_bytes, 2u * 4u * 64u);
  EXPECT_EQ(rank.signals, 3u);
  EXPECT_EQ(rank.copied_bytes, 2u * 12u * 64u);
  EXPECT_EQ(rank.stage_bytes, 12u * 64u);
  EXPECT_EQ(rank.peers, 2u);
}

TEST(Cost, CountsChainsThroughDependenciesAndSignals) {
  // 0 -> 2 on the wire, 2 tells 3, 3 -> 1 on the wire, and 0 -> 1 locally at any time.
  Case plans{"relay", Problem::alltoall(4, 0), {0, 0, 1, 1}, {}};
  std::vector<Builder> builders;
  for (int rank = 0; rank < 4; ++rank) builders.emplace_back(rank, 4, 8, 64);
  const auto in = [](int rank) { return Slice::contiguous(Space::input, rank, 0, 8); };
  const auto out = [](int rank, std::uint64_t at) {
    return Slice::contiguous(Space::output, rank, at, 8);
  };
  builders[0].send(2, in(0));
  builders[2].signal(3, builders[2].recv(0, out(2, 0)));
  builders[3].send(1, in(3), builders[3].wait(2));
  builders[1].recv(3, out(1, 0));
  builders[0].send(1, in(0));
  const OpId got = builders[1].recv(0, out(1, 8));
  builders[1].reduce(out(1, 16), out(1, 8), Operand::left, got);
  for (Builder& builder : builders) plans.plans.push_back(std::move(builder).finish());
  const CostSheet sheet = cost_of(plans);
  EXPECT_EQ(sheet.rounds, 2u);
  EXPECT_EQ(sheet.local_rounds, 1u);
  EXPECT_EQ(sheet.total.messages, 2u);
  EXPECT_EQ(sheet.total.local_messages, 1u);
  EXPECT_EQ(sheet.total.signals, 1u);
  EXPECT_EQ(sheet.total.reduced_bytes, 8u);
}

TEST(Cost, TotalsAreTheSumsOfRanksAndOfNodes) {
  std::mt19937 random(9);
  for (int i = 0; i < 50; ++i) {
    const CostSheet sheet = cost_of(random_case(random, 9));
    Cost by_rank;
    Cost by_node;
    for (const Cost& cost : sheet.by_rank) by_rank += cost;
    for (const Cost& cost : sheet.by_node) by_node += cost;
    EXPECT_EQ(by_rank, sheet.total);
    EXPECT_EQ(by_node, sheet.total);
  }
}

TEST(Cost, RefusesPlansThatDoNotBelongTogether) {
  const Case good = direct(Problem::alltoall(3, 8), even_nodes(1, 3));
  const auto error_of = [&](const std::function<void(Case&)>& change) -> std::string {
    Case bad = good;
    change(bad);
    try {
      cost_of(bad);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(error_of([](Case&) {}), "none");
  EXPECT_EQ(error_of([](Case& c) { c.plans.pop_back(); }),
            "no cost: 2 plans and the nodes of 3 ranks");
  EXPECT_EQ(error_of([](Case& c) { c.node_of_rank[2] = 3; }),
            "no cost: rank 2 is on node 3, nodes are 0 to 2");
  EXPECT_EQ(error_of([](Case& c) { c.plans[1] = c.plans[0]; }),
            "no cost: plan 1 of 3 is for rank 0 of 3");
  EXPECT_EQ(error_of([](Case& c) {
              Draft draft(c.plans[0]);
              draft.drop(1);
              c.plans[0] = draft.build();
            }),
            "no cost for plans that do not match: rank 1 op 2 (recv 0 output@1:0+8) has no other "
            "end");
}

TEST(Cost, IsATableWithTheTotalLast) {
  const CostSheet sheet = cost_of(direct(Problem::alltoall(2, 8), {0, 1}));
  const std::string table = to_table(sheet, true);
  for (const char* line : {"rank 1", "node 1", "total", "rounds 1 on the wire, 0 inside nodes"}) {
    EXPECT_NE(table.find(std::string("\n") + line), table.npos) << table;
  }
  EXPECT_EQ(to_table(sheet, false).find("rank 0"), std::string::npos);
}

}  // namespace
}  // namespace weft::plan::testing::cost_sheet_test
