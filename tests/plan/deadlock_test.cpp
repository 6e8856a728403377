#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plan/builder.hpp"
#include "plan/verify/events.hpp"
#include "plan/verify/verify.hpp"
#include "tests/plan/oracle.hpp"

namespace weft::plan::testing::deadlock_test {
namespace {

/// Plans that match, with dependencies at random: often deadlocked. Nothing is delivered rightly.
Case random_traffic(std::mt19937& random) {
  const int ranks = 2 + static_cast<int>(random() % 3);
  Case traffic{"traffic",
               Problem::alltoall(ranks, 0),
               std::vector<int>(static_cast<std::size_t>(ranks), 0),
               {}};
  std::vector<std::vector<std::pair<bool, int>>> lists(static_cast<std::size_t>(ranks));
  for (auto left = 1 + random() % 10; left > 0; --left) {
    const int from = static_cast<int>(random() % static_cast<unsigned>(ranks));
    const int to =
        (from + 1 + static_cast<int>(random() % static_cast<unsigned>(ranks - 1))) % ranks;
    for (const auto& [self, peer] : {std::pair(from, to), std::pair(to, from)}) {
      auto& list = lists[static_cast<std::size_t>(self)];
      const auto place = static_cast<std::ptrdiff_t>(random() % (list.size() + 1));
      list.insert(list.begin() + place, {self == from, peer});
    }
  }
  for (int rank = 0; rank < ranks; ++rank) {
    Builder builder(rank, ranks, 1, 64);
    std::uint64_t next = 0;
    OpId last = kNoOp;
    for (const auto& [sends, peer] : lists[static_cast<std::size_t>(rank)]) {
      const OpId after = random() % 3 == 0 ? kNoOp : last;
      last = sends ? builder.send(peer, Slice::contiguous(Space::input, rank, 0, 1), after)
                   : builder.recv(peer, Slice::contiguous(Space::scratch, rank, next++, 1), after);
    }
    builder.allocate_scratch(next);
    traffic.plans.push_back(std::move(builder).finish());
  }
  return traffic;
}

bool deadlocks(const Case& plans, const Buffering& buffering) {
  for (const Finding& finding :
       verify(plans.problem, plans.node_of_rank, plans.plans, {{buffering}, 100})) {
    if (finding.flaw == Flaw::deadlock) return true;
    EXPECT_NE(finding.flaw, Flaw::matching) << to_string(finding);
  }
  return false;
}

TEST(Deadlock, LargerBuffersDeadlockNoSooner) {
  std::mt19937 random(6);
  int freed_by_one = 0;
  int freed_by_two = 0;
  int always = 0;
  int never = 0;
  for (int i = 0; i < 1500; ++i) {
    const Case plans = random_traffic(random);
    const bool rendezvous = deadlocks(plans, {true, 0});
    EXPECT_EQ(deadlocks(plans, {false, 0}), rendezvous);
    bool tighter = rendezvous;
    for (const std::uint64_t messages : {1u, 2u, 3u, 100u}) {
      const bool found = deadlocks(plans, {false, messages});
      EXPECT_LE(found, tighter) << messages;
      if (messages == 1 && tighter && !found) ++freed_by_one;
      if (messages == 2 && tighter && !found) ++freed_by_two;
      if (messages == 100) ++(found ? always : never);
      tighter = found;
    }
  }
  EXPECT_GT(freed_by_one, 100);
  EXPECT_GT(freed_by_two, 10);
  EXPECT_GT(always, 100);
  EXPECT_GT(never, 100);
}

TEST(Deadlock, IsWhereAnExecutionStandsStill) {
  // An event that can happen stays possible until it does, so a deadlock shows in every schedule: a
  // single one, which the oracle runs under rendezvous, tells.
  std::mt19937 random(7);
  for (int i = 0; i < 1500; ++i) {
    const Case plans = random_traffic(random);
    const auto failure = find_failure(plans, random, 1);
    ASSERT_EQ(failure.has_value(), deadlocks(plans, {true, 0})) << failure.value_or("");
  }
}

TEST(Deadlock, CyclesAreClosedChainsOfTheGraph) {
  std::mt19937 random(8);
  int cycles = 0;
  for (int i = 0; i < 1000; ++i) {
    const Case plans = random_traffic(random);
    const OpTable ops(plans.plans);
    const Matching matching = match(ops);
    const EventGraph graph(ops, matching, i % 3);
    const auto follows = [&](Event event, Event before) {
      return std::ranges::find(graph.predecessors(event), before) !=
             graph.predecessors(event).end();
    };
    const auto cycle = graph.cycle();
    EXPECT_EQ(cycle.empty(), graph.order().size() == graph.size());
    for (std::size_t k = 0; k < cycle.size(); ++k) {
      EXPECT_TRUE(follows(cycle[(k + 1) % cycle.size()], cycle[k]));
    }
    for (const Event event : graph.order()) {
      for (const Event before : graph.predecessors(event)) {
        EXPECT_LT(graph.position(before), graph.position(event));
      }
    }
    cycles += !cycle.empty();
  }
  EXPECT_GT(cycles, 100);
}

}  // namespace
}  // namespace weft::plan::testing::deadlock_test
