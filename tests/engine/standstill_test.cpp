// Why ranks stand still: judged from what their postings say.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/board/standstill.hpp"

namespace weft::engine::board::standstill_test {
namespace {

SeenCall call_of(std::uint32_t number, std::uint32_t digest, bool is_under_way = true) {
  SeenCall call;
  call.number = number;
  call.digest = digest;
  call.collective = plan::Collective::allreduce;
  call.bytes = 8 * digest;
  call.algorithm = "ring";
  call.began_s = 5;
  if (!is_under_way) call.ended_s = 4;
  return call;
}

SeenRank rank_in(int rank, std::vector<SeenCall> calls, std::vector<int> peers = {}) {
  SeenRank one;
  one.rank = rank;
  one.process = {1000 + rank, 'S', 1.0};
  one.has_posting = true;
  one.calls = std::move(calls);
  for (const int peer : peers) {
    SeenWait wait;
    wait.kind = WaitKind::recv;
    wait.op = 41;
    wait.peer = peer;
    wait.bytes = 3072;
    one.waits.push_back(wait);
  }
  return one;
}

SeenCommunicator communicator(std::vector<SeenRank> ranks) {
  const int size = static_cast<int>(ranks.size());
  return {0xabcd'0000'0000'0000, size, std::move(ranks)};
}

TEST(Standstill, IsNoneWhereNoRankIsInACall) {
  const auto found = judge(communicator({rank_in(0, {call_of(3, 1, false)}), rank_in(1, {})}));
  EXPECT_TRUE(found.waiting.empty());
  EXPECT_FALSE(found.edge.has_value());
}

TEST(Standstill, NamesTheRankThatHasNotCome) {
  const auto seen =
      communicator({rank_in(0, {call_of(3, 1)}, {1}), rank_in(1, {call_of(3, 1)}, {2}),
                    rank_in(2, {call_of(2, 1, false)})});
  const auto found = judge(seen);
  EXPECT_EQ(found.waiting, (std::vector{0, 1}));
  EXPECT_EQ(found.absent, std::vector{2});
  ASSERT_TRUE(found.edge.has_value());
  EXPECT_EQ(found.edge->from, 1);
  EXPECT_EQ(found.edge->to, 2);
  EXPECT_EQ(found.edge->target, Edge::Target::absent);
  EXPECT_EQ(found.edge->dependents, 1);
  const std::string text = to_text(seen, found);
  EXPECT_NE(text.find("rank 1 waits for 3072 bytes from rank 2, op 41 of ring"), text.npos) << text;
  EXPECT_NE(
      text.find("rank 2 has not entered the call; 1 other waits for rank 2, too, directly or not"),
      text.npos)
      << text;
}

TEST(Standstill, SaysWhereCallsParted) {
  const auto seen =
      communicator({rank_in(0, {call_of(1, 1, false), call_of(2, 2)}, {2}),
                    rank_in(1, {call_of(1, 1, false), call_of(2, 2)}, {0}),
                    rank_in(2, {call_of(1, 1, false), call_of(2, 3, false), call_of(3, 4)}, {0})});
  const auto found = judge(seen);
  ASSERT_EQ(found.different.size(), 2u);
  EXPECT_EQ(found.different[0].ranks, (std::vector{0, 1}));
  EXPECT_EQ(found.different[1].ranks, std::vector{2});
  EXPECT_EQ(found.different[1].call.bytes, 24u);
  ASSERT_TRUE(found.last_common.has_value());
  EXPECT_EQ(found.last_common->number, 1u);
}

TEST(Standstill, ComparesASetUpWithTheCallsOfOthersByArguments) {
  SeenRank sets_up = rank_in(0, {call_of(1, 1, false)});
  sets_up.setup = call_of(0, 5);
  SeenRank same = rank_in(1, {call_of(1, 1, false)});
  same.setup = call_of(0, 5);
  EXPECT_TRUE(judge(communicator({sets_up, same})).different.empty());
  same.setup->root = 1;  // of a collective without root
  EXPECT_TRUE(judge(communicator({sets_up, same})).different.empty());
  const SeenRank other = rank_in(1, {call_of(1, 1, false), call_of(2, 6)}, {0});
  EXPECT_EQ(judge(communicator({sets_up, other})).different.size(), 2u);
  // It waits for those that have not come.
  const auto found = judge(communicator({sets_up, rank_in(1, {call_of(1, 1, false)})}));
  ASSERT_TRUE(found.edge.has_value());
  EXPECT_EQ(found.edge->to, 1);
  EXPECT_TRUE(found.is_setup);
}

TEST(Standstill, TellsDeadStoppedAndGoneOnApart) {
  for (const auto& [state, target] : {std::pair{'T', Edge::Target::stopped},
                                      {'Z', Edge::Target::dead},
                                      {'X', Edge::Target::dead},
                                      {'S', Edge::Target::gone_on}}) {
    SeenRank other = rank_in(1, {call_of(2, 1, false)});
    other.process.state = state;
    const auto found = judge(communicator({rank_in(0, {call_of(2, 1)}, {1}), other}));
    ASSERT_TRUE(found.edge.has_value());
    EXPECT_EQ(found.edge->target, target) << state;
    EXPECT_EQ(found.dead.size() + found.stopped.size(), state == 'S' ? 0u : 1u);
  }
}

TEST(Standstill, SeesACircle) {
  const auto found =
      judge(communicator({rank_in(0, {call_of(2, 1)}, {1}), rank_in(1, {call_of(2, 1)}, {0})}));
  ASSERT_TRUE(found.edge.has_value());
  EXPECT_EQ(found.edge->target, Edge::Target::in_turn);
}

TEST(Standstill, KnowsWhatItDoesNotKnow) {
  SeenCommunicator seen = communicator({rank_in(1, {call_of(2, 1)}, {3})});
  seen.size = 4;
  const auto found = judge(seen);
  EXPECT_EQ(found.unknown, (std::vector{0, 2, 3}));
  ASSERT_TRUE(found.edge.has_value());
  EXPECT_EQ(found.edge->target, Edge::Target::unknown);
}

// Every rank waits for one before it in a drawn order, the first of which has not come: whatever
// the tree, that rank is named, with a rank that waits for it, and all others are counted.
RC_GTEST_PROP(Standstill, FindsTheEndOfEveryTree, ()) {
  const int ranks = *rc::gen::inRange(2, 40);
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;) {
    std::swap(order[i], order[*rc::gen::inRange<std::size_t>(0, i + 1)]);
  }
  // The second waits for the first alone, so that all others wait for the second.
  std::vector<SeenRank> all(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int rank = order[i];
    const auto at = static_cast<std::size_t>(rank);
    if (i == 0) {
      all[at] = rank_in(rank, {call_of(6, 1, false)});
    } else {
      const std::size_t before = i == 1 ? 0 : *rc::gen::inRange<std::size_t>(1, i);
      all[at] = rank_in(rank, {call_of(6, 1, false), call_of(7, 2)}, {order[before]});
    }
  }
  const auto found = judge(communicator(std::move(all)));
  RC_ASSERT(found.absent == std::vector{order[0]});
  RC_ASSERT(found.edge.has_value());
  RC_ASSERT(found.edge->to == order[0]);
  RC_ASSERT(found.edge->from == order[1]);
  RC_ASSERT(found.edge->target == Edge::Target::absent);
  RC_ASSERT(found.edge->dependents == ranks - 2);
  RC_ASSERT(found.different.empty());
}

TEST(Standstill, ListsRanksInRuns) {
  EXPECT_EQ(list_of({0, 3, 4, 5, 7}), "0, 3-5, 7");
  EXPECT_EQ(list_of({}), "");
  EXPECT_EQ(list_of({2, 3}), "2-3");
}

}  // namespace
}  // namespace weft::engine::board::standstill_test
