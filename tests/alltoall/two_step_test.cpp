// The closed forms at the head of two_step.cpp, against what its plans cost; and what it shares
// with SA.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "tests/alltoall/cost_support.hpp"

namespace weft::alltoall::two_step_test {
namespace {

using hierarchy::Machine;

bool same_domain(const Machine& machine, int a, int b) {
  return machine.domain_of(a) == machine.domain_of(b);
}

int size_of_domain(const Machine& machine, int rank) {
  return static_cast<int>(machine.ranks_in(machine.domain_of(rank)).size());
}

int position(const Machine& machine, int rank) {
  int before = 0;
  for (const int peer : machine.ranks_in(machine.domain_of(rank))) before += peer < rank;
  return before;
}

/// Whether `rank` is the relay of its socket for `other`.
bool relays_for(const Machine& machine, int rank, int other) {
  if (same_domain(machine, rank, other) || size_of_domain(machine, rank) == 1) return false;
  return position(machine, other) % size_of_domain(machine, rank) == position(machine, rank);
}

plan::Cost expected(const Machine& machine, int rank, bool direct) {
  const auto local = machine.ranks_on(machine.node_of(rank));
  const std::uint64_t p = local.size();
  const auto q = static_cast<std::uint64_t>(size_of_domain(machine, rank));
  const std::uint64_t remote = static_cast<std::uint64_t>(machine.ranks()) - p;
  const std::uint64_t r = represented(machine, rank);
  std::uint64_t relayed = 0;  // V / m
  std::uint64_t passed_to = 0;
  std::uint64_t alone = 0;  // other sockets of one rank
  std::set<int> written_to;
  for (const int peer : local) {
    if (peer == rank) continue;
    const std::uint64_t there = represented(machine, peer);
    alone += !same_domain(machine, rank, peer) && size_of_domain(machine, peer) == 1;
    if (relays_for(machine, rank, peer)) {
      relayed += there * q;
      passed_to += there > 0;
    }
    if (there > 0 && (q == 1 || same_domain(machine, rank, peer))) written_to.insert(peer);
    for (const int mate : machine.ranks_in(machine.domain_of(rank))) {
      if (mate != rank && there > 0 && relays_for(machine, mate, peer)) written_to.insert(mate);
    }
  }
  plan::Cost cost;
  cost.messages = r;
  cost.wire_bytes = r * p * kBlock;
  cost.copied_bytes = (direct ? p : 2 * p - 1) * kBlock;
  cost.stage_bytes = direct ? 0 : rounded((p - 1) * kBlock);
  cost.signals = direct ? 2 * (p - 1) : p - 1;
  if (p == 1 || remote == 0) return cost;
  cost.copied_bytes += (direct ? r * (q + alone) + 2 * relayed : remote + relayed) * kBlock;
  cost.stage_bytes += rounded(r * p * kBlock) + rounded(relayed * kBlock);
  cost.signals += (direct ? 0 : written_to.size()) + passed_to;
  return cost;
}

std::string difference(const plan::Cost& cost, const plan::Cost& should) {
  std::string text;
  const auto compare = [&](std::string_view what, std::uint64_t is, std::uint64_t wanted) {
    if (is != wanted) text += fmt::format("{} {}, expected {}; ", what, is, wanted);
  };
  compare("messages", cost.messages, should.messages);
  compare("wire bytes", cost.wire_bytes, should.wire_bytes);
  compare("local messages", cost.local_messages, 0);
  compare("stage", cost.stage_bytes, should.stage_bytes);
  compare("signals", cost.signals, should.signals);
  // What is unpacked because it does not lie at equal distances is on top.
  if (cost.scratch_bytes == 0) compare("copied", cost.copied_bytes, should.copied_bytes);
  return text;
}

std::string differences(const Machine& machine, bool direct) {
  const plan::CostSheet sheet = sheet_of(direct ? "two-step:direct=1" : "two-step", machine);
  const std::uint64_t rounds = machine.nodes() > 1 ? 1 : 0;
  if (sheet.rounds != rounds) return fmt::format("{} rounds", sheet.rounds);
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const std::string text = difference(sheet.by_rank[rank], expected(machine, rank, direct));
    if (!text.empty()) return fmt::format("{}, rank {}: {}", to_string(machine), rank, text);
  }
  return {};
}

RC_GTEST_PROP(TwoStepCost, IsTheClosedFormOnAnyMachine, ()) {
  const auto machine = any_machine();
  for (const bool direct : {false, true}) {
    const std::string text = differences(machine, direct);
    if (!text.empty()) RC_FAIL(text);
  }
}

RC_GTEST_PROP(TwoStepCost, IsTheClosedFormOnAnySockets, ()) {
  const auto machine = hierarchy::with_any_domains(any_machine());
  for (const bool direct : {false, true}) {
    const std::string text = differences(machine, direct);
    if (!text.empty()) RC_FAIL(text);
  }
}

TEST(TwoStepCost, IsTheClosedFormOnMachinesOfNote) {
  for (const char* text : {"2x2x2", "3x2x4", "2x4x2", "2x4x1", "3x6/4", "1+3+4/2", "2x6/2:cyclic",
                           "2x4:cyclic/2", "2x4/0,0,0,1,0,1,1,1", "1x2x2", "4x1x3", "5+1/5"}) {
    for (const bool direct : {false, true}) {
      EXPECT_EQ(differences(Machine::parse(text), direct), "");
    }
  }
}

TEST(TwoStepCost, OnEqualSocketsIsShort) {
  for (const int nodes : {2, 3, 5}) {
    for (const int sockets : {1, 2, 3, 4}) {
      for (const int ranks : {2, 3, 4}) {
        const auto machine = Machine::parse(fmt::format("{}x{}x{}", nodes, sockets, ranks));
        const auto n = static_cast<std::uint64_t>(nodes);
        const auto s = static_cast<std::uint64_t>(sockets);
        const auto q = static_cast<std::uint64_t>(ranks);
        const auto sheet = sheet_of("two-step", machine);
        const auto sa = sheet_of("sa", machine);
        for (std::size_t rank = 0; rank < sheet.by_rank.size(); ++rank) {
          const plan::Cost& cost = sheet.by_rank[rank];
          EXPECT_EQ(cost.messages, n - 1);
          EXPECT_EQ(cost.wire_bytes, sa.by_rank[rank].wire_bytes);
          EXPECT_EQ(cost.signals, q - 1 + s - 1 + s * q - 1);
          EXPECT_EQ(sa.by_rank[rank].signals, 2 * (s * q - 1));
          EXPECT_EQ(cost.copied_bytes,
                    sa.by_rank[rank].copied_bytes + (s - 1) * (n - 1) * q * kBlock);
          EXPECT_EQ(cost.scratch_bytes, 0u);
        }
      }
    }
  }
}

// The closed forms of leader.cpp, where every socket is a group.
RC_GTEST_PROP(LeadersBySocket, CostTheClosedForm, ()) {
  const auto machine = any_machine();
  const auto sheet = sheet_of("leader:leaders=sockets", machine);
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const auto local = machine.ranks_on(machine.node_of(rank));
    const std::uint64_t p = local.size();
    const auto g = static_cast<std::uint64_t>(size_of_domain(machine, rank));
    const std::uint64_t remote = static_cast<std::uint64_t>(machine.ranks()) - p;
    const bool leads = position(machine, rank) == 0;
    const bool shared = g > 1 && remote > 0;
    plan::Cost should;
    if (leads) {
      should.messages =
          static_cast<std::uint64_t>(machine.domains() - machine.domains_on(machine.node_of(rank)));
      should.wire_bytes = g * remote * kBlock;
    }
    should.copied_bytes = (2 * p - 1 + (shared ? 2 * remote : 0)) * kBlock;
    should.stage_bytes =
        rounded((p - 1) * kBlock) + (shared && leads ? 2 * rounded(g * remote * kBlock) : 0);
    should.signals = p - 1 + (shared ? (leads ? g - 1 : 1) : 0);
    const std::string text = difference(sheet.by_rank[rank], should);
    if (!text.empty()) RC_FAIL(fmt::format("{}, rank {}: {}", to_string(machine), rank, text));
  }
}

TEST(TwoStep, CrossesSocketsByRelaysAlone) {
  const auto machine = Machine::parse("2x2x4");
  const auto crossing = [&](std::string_view name) {
    int signals = 0;
    for (const auto& plan : plans_of(parse(name), plan::Problem::alltoall(16, 8), machine)) {
      for (const plan::Op& op : plan.ops()) {
        const bool local = op.kind == plan::OpKind::signal;
        signals += local && !same_domain(machine, plan.rank(), op.peer);
      }
    }
    return signals;
  };
  // Of each rank 4 for the blocks within the node; before the messages 4, or 1.
  EXPECT_EQ(crossing("sa"), 16 * (4 + 4));
  EXPECT_EQ(crossing("two-step"), 16 * (4 + 1));
}

RC_GTEST_PROP(TwoStep, IsSendAggregationWithoutSocketsOfSeveralRanks, ()) {
  const auto any = any_machine().without_domains();
  std::vector<int> own(static_cast<std::size_t>(any.ranks()));
  for (int rank = 0; rank < any.ranks(); ++rank) own[rank] = rank;
  const auto problem = any_problem(any.ranks());
  for (const auto& machine : {any, any.with_domains(own)}) {
    for (const char* settings : {"", ":direct=1", ":between=bruck", ":aggregate=8"}) {
      RC_ASSERT(plans_of(parse(fmt::format("two-step{}", settings)), problem, machine) ==
                plans_of(parse(fmt::format("sa{}", settings)), problem, machine));
    }
  }
}

TEST(TwoStep, KeepsTheStepBetweenNodes) {
  for (const char* text : {"2x2x2", "5x2x3", "3x2x2"}) {
    const auto machine = Machine::parse(text);
    for (const char* step : {"isend", "bruck", "pairwise-ring", "pairwise-xor", "fat-tree"}) {
      const auto sheet = sheet_of(fmt::format("two-step:between={}", step), machine);
      const auto sa = sheet_of(fmt::format("sa:between={}", step), machine);
      EXPECT_EQ(sheet.rounds, sa.rounds);
      for (std::size_t rank = 0; rank < sheet.by_rank.size(); ++rank) {
        EXPECT_EQ(sheet.by_rank[rank].messages, sa.by_rank[rank].messages);
        EXPECT_EQ(sheet.by_rank[rank].wire_bytes, sa.by_rank[rank].wire_bytes);
      }
    }
  }
}

}  // namespace
}  // namespace weft::alltoall::two_step_test
