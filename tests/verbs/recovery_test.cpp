// Recovery without a device: two ends whose lanes are simulated and whose notices get lost, come
// twice and come in another order.
#include "verbs/recovery/recovery.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

namespace weft::verbs::recovery_test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(20);

/// A queue pair that knows its epoch and whether it accepts requests.
class FakeLane final : public RecoverableLane {
 public:
  void join(FakeLane& peer) { peer_ = &peer; }

  const char* reset(std::uint32_t epoch) noexcept override {
    epoch_ = epoch;
    return refuses ? "RESET" : nullptr;
  }
  const char* start() noexcept override {
    // Otherwise requests of an earlier epoch could still arrive.
    EXPECT_GE(peer_->epoch_, epoch_);
    return nullptr;
  }
  bool has_control() const noexcept override { return true; }
  void send_notice(Notice notice) noexcept override {
    if (!is_down) sent.push_back(notice);
  }
  void ask_liveness(Notice) noexcept override {}
  void stop_answering() noexcept override {}
  bool carried_nothing() const noexcept override { return is_useless; }
  std::string name() const override { return "fake:1"; }

  FakeLane& peer() const { return *peer_; }
  std::uint32_t epoch() const { return epoch_; }

  bool is_down = false;
  bool is_useless = false;  // fails before it has carried anything
  bool refuses = false;     // to be reset
  std::vector<Notice> sent;

 private:
  FakeLane* peer_ = nullptr;
  std::uint32_t epoch_ = 0;
};

class End final : public RecoverableConnection {
 public:
  explicit End(std::size_t count) : lanes(count) {
    std::vector<RecoverableLane*> started;
    for (FakeLane& lane : lanes) started.push_back(&lane);
    recovery.start(std::move(started));
  }
  Received received() const noexcept override { return has; }
  bool is_ending() const noexcept override { return ends; }
  bool is_closed_by_peer() const noexcept override { return is_closed; }
  void on_change() noexcept override {}
  std::string describe() const override { return "fake lanes"; }

  Received has;
  bool ends = false;
  bool is_closed = false;
  /// In the epoch after so many others.
  bool runs_in(std::uint32_t epoch) const {
    return recovery.is_running() && recovery.epoch() == epoch;
  }
  std::vector<FakeLane> lanes;
  RecoveryGroup group{10, 0};
  Recovery recovery{group, *this};
};

struct Pair {
  Pair(unsigned seed, std::size_t lanes) : random(seed), a(lanes), b(lanes) {
    for (std::size_t i = 0; i < lanes; ++i) {
      a.lanes[i].join(b.lanes[i]);
      b.lanes[i].join(a.lanes[i]);
    }
  }
  /// A turn of one end: it sends what is due, and some notice of its peer may arrive.
  void turn(End& end) {
    end.group.advance();
    FakeLane& lane = end.lanes[random() % end.lanes.size()];
    std::vector<Notice>& sent = lane.peer().sent;
    if (sent.empty()) return;
    const std::size_t chosen = random() % sent.size();
    const Notice notice = sent[chosen];
    if (random() % 3 != 0) sent.erase(sent.begin() + static_cast<std::ptrdiff_t>(chosen));
    if (random() % 3 != 0) end.recovery.receive(lane, notice);
  }
  /// Turns of both ends until `condition` holds for each.
  template <class Condition>
  bool until(Condition condition) {
    const auto end = Clock::now() + kPatience;
    while (!condition(a) || !condition(b)) {
      if (Clock::now() > end) return false;
      turn(random() % 2 == 0 ? a : b);
    }
    return true;
  }
  std::mt19937 random;
  End a;
  End b;
};

RC_GTEST_PROP(Recovery, RunsAgainAtBothEndsInOneEpoch, (unsigned seed)) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 4);
  Pair pair(seed, count);
  const std::size_t down = pair.random() % (count + 1);  // count: none
  if (down < count && count > 1) {
    pair.a.lanes[down].is_down = pair.b.lanes[down].is_down = true;
  }
  for (std::uint32_t round = 1; round <= 3; ++round) {
    pair.a.has = {round, static_cast<std::uint32_t>(pair.random() % 100)};
    pair.b.has = {round + 7, static_cast<std::uint32_t>(pair.random() % 100)};
    End& first = pair.random() % 2 == 0 ? pair.a : pair.b;
    first.recovery.lane_failed(first.lanes.front(), "broken", true);
    RC_ASSERT(pair.until([round](const End& end) { return end.runs_in(round); }));
    RC_ASSERT(pair.a.lanes.front().epoch() == pair.b.lanes.front().epoch());
    for (std::size_t i = 0; count > 1 && i < count; ++i) {
      RC_ASSERT(i != down || !(pair.a.lanes[i].is_ready() || pair.b.lanes[i].is_ready()));
    }
  }
  RC_ASSERT(pair.a.group.reconnections() == 3u);
  RC_ASSERT(pair.a.group.recovering() == 0u);
}

TEST(Recovery, OfALaneThatWorksAgainJoinsTheRunningEpoch) {
  Pair pair(1, 2);
  pair.a.lanes[1].is_down = pair.b.lanes[1].is_down = true;
  pair.a.recovery.lane_failed(pair.a.lanes[1], "broken", true);
  ASSERT_TRUE(pair.until([](const End& end) { return end.runs_in(1); }));
  EXPECT_FALSE(pair.a.lanes[1].is_ready());
  pair.a.lanes[1].is_down = pair.b.lanes[1].is_down = false;
  EXPECT_TRUE(pair.until([](const End& end) { return end.lanes[1].is_ready(); }));
  EXPECT_EQ(pair.a.lanes[0].epoch(), 1u);
}

TEST(Recovery, SucceedsWhenTheEndsHaveExcludedDifferentLanes) {
  Pair pair(4, 2);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    for (auto [end, lane] : {std::pair(&pair.a, 0), std::pair(&pair.b, 1)}) {
      end->lanes[lane].is_useless = true;
      end->recovery.lane_failed(end->lanes[lane], "broken", true);
    }
    ASSERT_TRUE(pair.until([round](const End& end) { return end.runs_in(round); })) << round;
  }
}

TEST(Recovery, KeepsTheLastLaneHoweverOftenItFails) {
  Pair pair(5, 2);
  pair.a.has = pair.b.has = {};
  for (std::uint32_t round = 1; round <= 12; ++round) {
    // First one lane alone, until it is excluded, then the other one.
    FakeLane& lane = pair.a.lanes[round <= 4 ? 0 : 1];
    lane.is_useless = true;
    pair.a.has.slots = pair.b.has.slots = round;
    pair.a.recovery.lane_failed(lane, "broken", true);
    ASSERT_FALSE(pair.a.recovery.has_failed()) << pair.a.recovery.failure() << ", round " << round;
    ASSERT_TRUE(pair.until([round](const End& end) { return end.runs_in(round); })) << round;
  }
}

TEST(Recovery, UsesALaneAgainThatFailedTooOftenWhenTheOthersRefuse) {
  Pair pair(6, 2);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    pair.a.lanes[0].is_useless = true;
    pair.a.recovery.lane_failed(pair.a.lanes[0], "broken", true);
    ASSERT_TRUE(pair.until([round](const End& end) { return end.runs_in(round); })) << round;
  }
  pair.a.lanes[1].refuses = true;
  pair.a.recovery.lane_failed(pair.a.lanes[1], "broken", true);
  ASSERT_FALSE(pair.a.recovery.has_failed()) << pair.a.recovery.failure();
  EXPECT_TRUE(pair.until([](const End& end) { return end.runs_in(4); }));
  EXPECT_TRUE(pair.a.lanes[0].is_ready());
}

TEST(Recovery, FailsAtBothEndsWhenOneFails) {
  Pair pair(2, 1);
  pair.a.recovery.lane_failed(pair.a.lanes[0], "broken", true);
  pair.b.recovery.lane_failed(pair.b.lanes[0], "protection error", false);
  EXPECT_STREQ(pair.b.recovery.failure(), "protection error");
  EXPECT_TRUE(pair.until([](const End& end) { return end.recovery.has_failed(); }));
  EXPECT_STREQ(pair.a.recovery.failure(),
               "broken; the peer has given the connection up: protection error");
}

/// The end that runs learns it first, and has its own lane fail later for want of the peer's.
TEST(Recovery, FailsForThePeersReasonAfterThePeerHasFailed) {
  Pair pair(2, 1);
  const std::string why = "protection error, of which this is a long tale";
  pair.b.recovery.lane_failed(pair.b.lanes[0], why.c_str(), false);
  ASSERT_FALSE(pair.b.lanes[0].sent.empty());
  pair.a.recovery.receive(pair.a.lanes[0], pair.b.lanes[0].sent.back());
  EXPECT_FALSE(pair.a.recovery.has_failed());
  pair.a.recovery.lane_failed(pair.a.lanes[0], "no answer", true);
  EXPECT_EQ(pair.a.recovery.failure(), "no answer; the peer has given the connection up: " +
                                           why.substr(0, Notice::kReasonBytes - 1));
}

/// What the peer still waits for, this end's close, may have been lost.
TEST(Recovery, IsNotWantedOnceThePeerHasClosed) {
  Pair pair(7, 1);
  pair.a.recovery.lane_failed(pair.a.lanes[0], "broken", true);
  pair.a.is_closed = true;
  pair.a.group.advance();
  EXPECT_FALSE(pair.a.recovery.has_failed()) << "it may be used again";
  pair.a.ends = pair.b.ends = true;
  EXPECT_TRUE(pair.until([](const End& end) { return end.recovery.has_failed(); }));
}

/// An end that runs goes on, until it ends, too.
TEST(Recovery, OfAnEndThatEndsFailsWithThePeer) {
  Pair pair(8, 1);
  pair.b.recovery.fail("both ends have closed it");
  pair.a.recovery.receive(pair.a.lanes[0], pair.b.lanes[0].sent.back());
  EXPECT_FALSE(pair.a.recovery.has_failed());
  pair.a.recovery.prepare_to_end();
  EXPECT_TRUE(pair.a.recovery.has_failed());
}

TEST(Recovery, FailsWhenAConnectionBreaksAgainAndAgain) {
  Pair pair(3, 1);
  for (int i = 0; i < 100; ++i) {
    pair.a.recovery.lane_failed(pair.a.lanes[0], "broken", true);
  }
  EXPECT_STREQ(pair.a.recovery.failure(), "broken; it breaks again and again");
}

}  // namespace
}  // namespace weft::verbs::recovery_test
