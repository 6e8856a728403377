// Barriers: correct ones are broken at random, and what the verifier says is compared with runs in
// which one rank never comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "plan/builder.hpp"
#include "plan/text.hpp"
#include "plan/verify/verify.hpp"
#include "tests/plan/cases.hpp"
#include "tests/plan/draft.hpp"

namespace weft::plan::testing::synchronization_test {
namespace {

/// Says something to a peer: a signal inside the node, else a byte.
class Notes {
 public:
  Notes(Builder& builder, std::span<const int> node_of_rank)
      : builder_(builder), node_of_rank_(node_of_rank), byte_(builder.allocate_scratch(1)) {}

  OpId tell(int peer, After after) {
    return near(peer) ? builder_.signal(peer, after) : builder_.send(peer, byte_, after);
  }
  OpId hear(int peer, After after = {}) {
    if (near(peer)) return builder_.wait(peer, after);
    return builder_.recv(peer, builder_.allocate_scratch(1), after);
  }

 private:
  bool near(int peer) const {
    return node_of_rank_[static_cast<std::size_t>(peer)] ==
           node_of_rank_[static_cast<std::size_t>(builder_.rank())];
  }

  Builder& builder_;
  std::span<const int> node_of_rank_;
  Slice byte_;
};

void central(Notes& notes, int rank, int ranks) {
  std::vector<OpId> heard;
  if (rank != 0) {
    notes.tell(0, {});
    notes.hear(0);
    return;
  }
  for (int peer = 1; peer < ranks; ++peer) heard.push_back(notes.hear(peer));
  for (int peer = 1; peer < ranks; ++peer) notes.tell(peer, heard);
}

void dissemination(Notes& notes, int rank, int ranks) {
  std::vector<OpId> heard;
  for (int distance = 1; distance < ranks; distance *= 2) {
    notes.tell((rank + distance) % ranks, heard);
    heard.push_back(notes.hear((rank - distance + ranks) % ranks));
  }
}

/// Twice around.
void ring(Notes& notes, int rank, int ranks) {
  if (ranks == 1) return;
  const int next = (rank + 1) % ranks;
  const int before = (rank + ranks - 1) % ranks;
  OpId heard = rank == 0 ? kNoOp : notes.hear(before);
  notes.tell(next, heard);
  heard = notes.hear(before, heard);
  if (rank + 1 < ranks) notes.tell(next, heard);
}

constexpr std::array kBarriers = {central, dissemination, ring};

Case barrier(std::mt19937& random, int ranks) {
  Case result;
  result.problem = {Collective::barrier, ranks};
  result.node_of_rank = random_nodes(random, ranks);
  const std::size_t kind = random() % kBarriers.size();
  result.name = std::array{"central", "dissemination", "ring"}[kind];
  for (int rank = 0; rank < ranks; ++rank) {
    Builder builder(rank, ranks, 0, 0);
    Notes notes(builder, result.node_of_rank);
    kBarriers[kind](notes, rank, ranks);
    result.plans.push_back(std::move(builder).finish());
  }
  return result;
}

/// Executes all that can happen when rank `absent` never enters; messages never wait for room.
class Run {
 public:
  Run(const Case& plans, int absent) : plans_(plans.plans), absent_(absent) {
    for (const Plan& plan : plans_) states_.emplace_back(plan.ops().size());
    while (step()) {
    }
  }

  /// True when some rank has left.
  bool anybody_leaves() const {
    return std::ranges::any_of(plans_, [this](const Plan& plan) {
      const auto& states = states_[static_cast<std::size_t>(plan.rank())];
      return plan.rank() != absent_ && std::ranges::all_of(states, &State::complete);
    });
  }

 private:
  struct State {
    bool started = false;
    bool complete = false;
  };

  bool step() {
    bool moved = false;
    for (const Plan& plan : plans_) {
      if (plan.rank() == absent_) continue;
      for (OpId id = 0; id < plan.ops().size(); ++id) moved |= advance(plan, id);
    }
    return moved;
  }

  bool advance(const Plan& plan, OpId id) {
    auto& states = states_[static_cast<std::size_t>(plan.rank())];
    const Op& op = plan.ops()[id];
    if (!states[id].started) {
      const auto complete = [&](OpId before) { return states[before].complete; };
      if (!std::ranges::all_of(plan.after(id), complete)) return false;
      for (OpId i = 0; i < id; ++i) {
        if (is_alike(plan.ops()[i], op) && !states[i].started) return false;
      }
      states[id].started = true;
      states[id].complete = op.kind == OpKind::send || op.kind == OpKind::signal;
      return true;
    }
    if (states[id].complete || !partner_started(plan, id)) return false;
    states[id].complete = true;
    return true;
  }

  static bool is_alike(const Op& a, const Op& b) { return a.kind == b.kind && a.peer == b.peer; }

  bool partner_started(const Plan& plan, OpId id) const {
    const Op& op = plan.ops()[id];
    auto place = std::ranges::count_if(plan.ops().first(id),
                                       [&](const Op& other) { return is_alike(other, op); });
    const Plan& peer = plans_[static_cast<std::size_t>(op.peer)];
    for (OpId i = 0; i < peer.ops().size(); ++i) {
      const Op& other = peer.ops()[i];
      if (other.kind != counterpart(op.kind) || other.peer != plan.rank()) continue;
      if (place-- == 0) return states_[static_cast<std::size_t>(op.peer)][i].started;
    }
    return false;
  }

  const std::vector<Plan>& plans_;
  const int absent_;
  std::vector<std::vector<State>> states_;
};

bool any_leaves_early(const Case& plans) {
  for (int absent = 0; absent < plans.problem.ranks; ++absent) {
    if (Run(plans, absent).anybody_leaves()) return true;
  }
  return false;
}

std::string text_of(const Case& plans) {
  std::string text = plans.name + "\n";
  for (const Plan& plan : plans.plans) text += to_text(plan);
  return text;
}

TEST(Synchronization, BarriersHoldEveryRankUntilAllHaveCome) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const Case plans = barrier(random, 1 + static_cast<int>(random() % 9));
    const auto findings = verify(plans.problem, plans.node_of_rank, plans.plans);
    ASSERT_TRUE(findings.empty()) << to_string(findings.front()) << "\n" << text_of(plans);
    ASSERT_FALSE(any_leaves_early(plans)) << text_of(plans);
  }
}

TEST(Synchronization, ManyRanksAreSeenAcrossWords) {
  for (const int ranks : {64, 100, 192}) {
    Case plans;
    plans.problem = {Collective::barrier, ranks};
    plans.node_of_rank.assign(static_cast<std::size_t>(ranks), 0);
    for (int rank = 0; rank < ranks; ++rank) {
      Builder builder(rank, ranks, 0, 0);
      Notes notes(builder, plans.node_of_rank);
      dissemination(notes, rank, ranks);
      plans.plans.push_back(std::move(builder).finish());
    }
    EXPECT_TRUE(verify(plans.problem, plans.node_of_rank, plans.plans).empty());
    // The last rank says at once what it should say last: that those it has heard of have come.
    Draft draft(plans.plans.back());
    draft.lines[draft.lines.size() - 2].after.clear();
    plans.plans.back() = draft.build();
    const auto findings = verify(plans.problem, plans.node_of_rank, plans.plans);
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.front().flaw, Flaw::synchronization);
  }
}

TEST(Synchronization, SaysWhoMayLeaveBeforeWhom) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < 3; ++rank) {
    Builder builder(rank, 3, 0, 0);
    if (rank == 0) builder.signal(1);
    if (rank == 1) builder.wait(0);
    plans.push_back(std::move(builder).finish());
  }
  const std::vector<int> nodes = {0, 0, 0};
  const auto findings = verify({Collective::barrier, 3}, nodes, plans);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(to_string(findings[0]),
            "synchronization: rank 0: may leave before rank 1 has come, expected to follow an op "
            "of it");
  EXPECT_EQ(to_string(findings[1]),
            "synchronization: rank 1: may leave before rank 2 has come, expected to follow an op "
            "of it");
  EXPECT_EQ(findings[2].rank, 2);
}

enum class Mutation { drop_dependency, drop_pair, free_op };

/// Changes one op so that the plans still match and do not deadlock.
void mutate(Case& plans, Mutation mutation, std::mt19937& random) {
  Plan& plan = plans.plans[random() % plans.plans.size()];
  Draft draft(plan);
  if (draft.lines.empty()) return;
  const auto id = static_cast<OpId>(random() % draft.lines.size());
  Draft::Line& line = draft.lines[id];
  if (mutation == Mutation::free_op) line.after.clear();
  if (mutation == Mutation::drop_dependency && !line.after.empty()) {
    line.after.erase(line.after.begin() +
                     static_cast<std::ptrdiff_t>(random() % line.after.size()));
  }
  if (mutation == Mutation::drop_pair) {
    const Op op = line.op;
    std::size_t place = 0;  // among the ops of its kind towards its peer
    for (OpId i = 0; i < id; ++i) {
      place += draft.lines[i].op.kind == op.kind && draft.lines[i].op.peer == op.peer;
    }
    Plan& other = plans.plans[static_cast<std::size_t>(op.peer)];
    Draft partner(other);
    for (OpId i = 0; i < partner.lines.size(); ++i) {
      const Op& candidate = partner.lines[i].op;
      if (candidate.kind != counterpart(op.kind) || candidate.peer != plan.rank()) continue;
      if (place-- > 0) continue;
      partner.drop(i);
      break;
    }
    other = partner.build();
    draft.drop(id);
  }
  plan = draft.build();
}

TEST(Synchronization, TheVerifierRejectsJustTheBarriersThatARankCanLeaveEarly) {
  std::mt19937 random(3);
  for (const Mutation mutation :
       {Mutation::drop_dependency, Mutation::drop_pair, Mutation::free_op}) {
    int broken = 0;
    for (int i = 0; i < 400; ++i) {
      Case plans = barrier(random, 2 + static_cast<int>(random() % 6));
      mutate(plans, mutation, random);
      const auto findings = verify(plans.problem, plans.node_of_rank, plans.plans);
      const bool early = any_leaves_early(plans);
      ASSERT_EQ(!findings.empty(), early) << text_of(plans);
      broken += early;
      for (const Finding& finding : findings) EXPECT_EQ(finding.flaw, Flaw::synchronization);
    }
    EXPECT_GT(broken, 60) << static_cast<int>(mutation);
  }
}

}  // namespace
}  // namespace weft::plan::testing::synchronization_test
