// Neighbourhood exchanges: plans for random graphs on random machines, proved, and their figures.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "alltoall/schemes/neighbours.hpp"
#include "base/error.hpp"
#include "plan/verify/verify.hpp"
#include "tests/alltoall/support.hpp"

namespace weft::alltoall::neighbours_test {
namespace {

using hierarchy::Machine;
using plan::Edge;
using plan::Edges;
using plan::Plan;

/// The edges of all ranks, drawn one by one: some between the same two ranks, some from a rank to
/// itself, some without a byte. A rank names its edges to different ranks in any order. Blocks to
/// send overlap; those to receive lie in any order, with gaps.
std::vector<Edges> any_graph(int ranks) {
  const int count = *rc::gen::inRange(0, 4 * ranks + 1).as("edges");
  const int close = *rc::gen::inRange(1, ranks + 1).as("reach");
  std::vector<Edges> all(static_cast<std::size_t>(ranks));
  for (int i = 0; i < count; ++i) {
    const int from = *rc::gen::inRange(0, ranks);
    const int to = (from + *rc::gen::inRange(0, close)) % ranks;
    const auto bytes = *rc::gen::element<std::uint64_t>(0, 1, 8, 100, 248, 249, 1000, 20000);
    const auto at = *rc::gen::inRange<std::uint64_t>(0, 64);
    all[from].out.push_back({to, {at, bytes}});
    all[to].in.push_back({from, {0, bytes}});
  }
  for (Edges& edges : all) {
    // Those of different ranks change places; those of one rank keep their order.
    for (std::vector<Edge>* list : {&edges.out, &edges.in}) {
      const int turn = *rc::gen::inRange(0, ranks);
      if (*rc::gen::arbitrary<bool>()) {
        std::ranges::stable_sort(*list, {},
                                 [&](const Edge& edge) { return (edge.rank + turn) % ranks; });
      }
    }
    std::vector<Edge*> order;
    for (Edge& edge : edges.in) order.push_back(&edge);
    if (*rc::gen::arbitrary<bool>()) std::ranges::reverse(order);
    std::uint64_t end = 0;
    for (Edge* edge : order) {
      edge->block.offset = end + *rc::gen::inRange<std::uint64_t>(0, 9);
      end = edge->block.offset + edge->block.bytes;
    }
  }
  return all;
}

std::vector<Plan> plans_of(const std::vector<Edges>& graph, const Machine& machine,
                           std::uint64_t most_in_slot) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    plans.push_back(neighbours(graph[static_cast<std::size_t>(rank)], machine, rank, most_in_slot));
  }
  return plans;
}

std::string flaws_of(const std::vector<Edges>& graph, const Machine& machine,
                     const std::vector<Plan>& plans) {
  std::string text;
  for (const auto& finding : plan::verify(graph, machine.node_of_rank(), plans)) {
    text += to_string(finding) + "\n";
  }
  return text;
}

std::uint64_t any_limit() {
  return *rc::gen::element<std::uint64_t>(0, 64, 300, 16384).as("most in a slot");
}

RC_GTEST_PROP(Neighbours, AreRightOnAnyGraphAndMachine, ()) {
  const Machine machine = any_machine(12);
  const auto graph = any_graph(machine.ranks());
  const auto plans = plans_of(graph, machine, any_limit());
  const std::string flaws = flaws_of(graph, machine, plans);
  if (!flaws.empty()) RC_FAIL(flaws);
}

RC_GTEST_PROP(Neighbours, CostWhatTheirHeadSays, ()) {
  const Machine machine = any_machine(12);
  const auto graph = any_graph(machine.ranks());
  const std::uint64_t limit = any_limit();
  const auto plans = plans_of(graph, machine, limit);
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    std::vector<std::uint64_t> to(static_cast<std::size_t>(machine.ranks()));
    for (const Edge& edge : graph[rank].out) to[edge.rank] += edge.block.bytes;
    const auto in_slot = [&](int peer) {
      return peer != rank && machine.same_node(peer, rank) && to[peer] <= limit;
    };
    std::uint64_t messages = 0, signals = 0, sent = 0, signalled = 0;
    for (const Edge& edge : graph[rank].out) {
      messages += edge.block.bytes != 0 && edge.rank != rank && !in_slot(edge.rank);
    }
    for (int peer = 0; peer < machine.ranks(); ++peer) {
      signals += to[peer] != 0 && in_slot(peer);
    }
    for (const plan::Op& op : plans[rank].ops()) {
      sent += op.kind == plan::OpKind::send;
      signalled += op.kind == plan::OpKind::signal;
    }
    RC_ASSERT(sent == messages);
    RC_ASSERT(signalled == signals);
    RC_ASSERT(plans[rank].scratch_bytes() == 0u);
    const auto places = static_cast<std::uint64_t>(machine.ranks_on_node_of(rank));
    RC_ASSERT(plans[rank].stage_bytes() ==
              (limit == 0 ? 0 : (places - 1) * ((limit + 63) / 64 * 64 + 64)));
  }
}

/// Two edges between two ranks, once on a node and once not: were they matched in another order the
/// contract would see it.
TEST(Neighbours, EdgesOfAPairThatAreMatchedTheOtherWayRoundAreFound) {
  for (const char* text : {"1x2", "2x1"}) {
    const Machine machine = Machine::parse(text);
    const std::vector<Edges> graph = {{{{1, {0, 8}}, {1, {8, 8}}}, {}},
                                      {{}, {{0, {0, 8}}, {0, {8, 8}}}}};
    EXPECT_EQ(flaws_of(graph, machine, plans_of(graph, machine, 64)), "");
    std::vector<Edges> swapped = graph;
    std::ranges::reverse(swapped[1].in);
    EXPECT_NE(flaws_of(graph, machine, plans_of(swapped, machine, 64)), "") << text;
  }
}

TEST(Neighbours, GraphsWhoseEndsDisagreeAreFound) {
  const Machine machine = Machine::parse("2x1");
  std::vector<Edges> graph = {{{{1, {0, 8}}}, {}}, {{}, {{0, {0, 8}}}}};
  const auto plans = plans_of(graph, machine, 64);
  graph[1].in[0].block.bytes = 4;
  EXPECT_EQ(flaws_of(graph, machine, plans),
            "shape: the edges of rank 0 to rank 1 are not those that come in there\n");
  graph[1].in[0] = {2, {0, 8}};
  EXPECT_EQ(flaws_of(graph, machine, plans), "shape: an edge of rank 1 with rank 2 of 2\n");
  EXPECT_THROW(neighbours(graph[1], machine, 1, 64), UsageError);
}

}  // namespace
}  // namespace weft::alltoall::neighbours_test
