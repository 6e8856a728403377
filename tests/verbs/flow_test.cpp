// Several flows over one connection that breaks at random: each message arrives once, in order and
// whole, while flows are opened, closed and used again, and while their owners are away.
#include "verbs/connection/flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/verbs/inject_faults.hpp"

namespace weft::verbs::flow_test {
namespace {

using test::inject;
using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::uint64_t kRendezvousBytes = 3000;

unsigned seeds() {
  return std::getenv("WEFT_LONG_TESTS") == nullptr ? 8 : 400;
}

PortSettings settings(Placement placement) {
  PortSettings settings;
  settings.ports = {{"soft", 0}};
  settings.placement = placement;
  settings.timeout = 8;
  settings.retries = 1;
  return settings;
}

struct Side {
  explicit Side(Placement placement) : endpoint(settings(placement)) {}
  Endpoint endpoint;
  FlowGroup group{endpoint};
};

/// A message with memory at both ends, which its owner overwrites as soon as it may.
struct Message {
  Message(std::mt19937& random, Side& from, Side& to, std::size_t bytes)
      : content(bytes), source(bytes), target(bytes) {
    for (auto& byte : content) byte = static_cast<std::byte>(random());
    source = content;
    // Key 0: a registration that was refused.
    if (random() % 3 != 0) source_key = from.endpoint.register_memory(source.data(), bytes);
    if (random() % 3 != 0) target_key = to.endpoint.register_memory(target.data(), bytes);
    send.layout = {source.data(), bytes, 1, bytes, source_key.lkey()};
    recv.layout = {target.data(), bytes, 1, bytes, target_key.rkey()};
  }
  void take_back() {
    if (send.done && !is_sent) {
      std::ranges::fill(source, kTaken);
      is_sent = true;
    }
    if (recv.done && !is_received) {
      EXPECT_EQ(target, content);
      std::ranges::fill(target, kTaken);
      is_received = true;
    }
  }
  bool is_left_alone() const {
    return std::ranges::all_of(target, [](std::byte byte) { return byte == kTaken; });
  }
  static constexpr std::byte kTaken{0xa7};
  std::vector<std::byte> content, source, target;
  Registration source_key, target_key;
  Transfer send, recv;
  bool is_sent = false;
  bool is_received = false;
};

/// One end of a communicator's flow.
struct End {
  Side* side = nullptr;
  std::unique_ptr<FlowOffer> offer;
  Flow* flow = nullptr;
  std::uint32_t number = 0;
  int away = 0;  // turns in which its owner does not come
  bool is_over = false;
  std::size_t sends = 0;  // of its messages: posted so far
  std::size_t recvs = 0;
};

/// A communicator of two ranks, from its making to its end.
class Use {
 public:
  Use(std::mt19937& random, Side& a, Side& b) : random_(random), sides_{&a, &b} {
    for (std::size_t i = 0; i < 2; ++i) {
      ends_[i].side = sides_[i];
      ends_[i].offer = std::make_unique<FlowOffer>(sides_[i]->group, kRendezvousBytes);
      texts_[i] = ends_[i].offer->text();
      for (std::size_t n = random() % 8; n-- > 0;) {
        const bool large = random() % 3 == 0;
        const std::size_t bytes = 1 + random() % (large ? 400000 : 6000);
        messages_[i].push_back(
            std::make_unique<Message>(random, *sides_[i], *sides_[1 - i], bytes));
      }
    }
  }

  /// A turn of one end. False when the connection has failed.
  bool turn(std::size_t which) {
    End& end = ends_[which];
    if (end.away != 0) {
      --end.away;
      return true;
    }
    if (random_() % 50 == 0) end.away = static_cast<int>(random_() % 400);
    if (end.offer != nullptr) {
      if (random_() % 4 != 0) return true;
      end.flow = &end.offer->accept(texts_[1 - which]);
      end.number = end.flow->wire.number();
      end.offer.reset();
    }
    if (end.is_over) {
      end.side->endpoint.poll();  // the other end may need it to connect again
      return true;
    }
    post_some(end, which);
    if (end.flow->channel.progress() == Status::failed) return false;
    for (auto& message : messages_[which]) message->take_back();
    for (auto& message : messages_[1 - which]) message->take_back();
    if (is_done(end, which)) close(end);
    return true;
  }
  bool is_over() const { return ends_[0].is_over && ends_[1].is_over; }
  std::uint32_t number(std::size_t which) const { return ends_[which].number; }
  std::string failure(std::size_t which) const {
    return ends_[which].flow == nullptr ? "" : ends_[which].flow->channel.failure();
  }
  /// Late writes must not change buffers that are in the program's hands again.
  bool is_left_alone() const {
    for (const auto& messages : messages_) {
      for (const auto& message : messages) {
        if (!message->is_received || !message->is_left_alone()) return false;
      }
    }
    return true;
  }

 private:
  void post_some(End& end, std::size_t which) {
    auto& out = messages_[which];
    auto& in = messages_[1 - which];
    if (end.sends < out.size() && random_() % 3 == 0)
      end.flow->channel.send(out[end.sends++]->send);
    if (end.recvs < in.size() && random_() % 3 == 0) end.flow->channel.recv(in[end.recvs++]->recv);
  }
  bool is_done(const End& end, std::size_t which) const {
    return end.sends == messages_[which].size() && end.recvs == messages_[1 - which].size() &&
           end.flow->channel.idle();
  }
  static void close(End& end) {
    Flow& flow = *end.flow;
    if (flow.wire.is_recovering()) return;
    if (!flow.channel.said_close()) {
      flow.wire.signal_from_now_on();
      flow.channel.close();
    }
    if (!flow.channel.said_close() || !flow.channel.is_closed_by_peer() ||
        !flow.wire.is_drained()) {
      return;
    }
    end.side->group.give_back(flow);
    end.is_over = true;
  }

  std::mt19937& random_;
  std::array<Side*, 2> sides_;
  std::array<End, 2> ends_;
  std::array<std::string, 2> texts_;
  std::array<std::vector<std::unique_ptr<Message>>, 2> messages_;  // by sender
};

class Flows : public testing::TestWithParam<std::tuple<Placement, unsigned>> {
 protected:
  void TearDown() override { inject(""); }
};

TEST_P(Flows, DeliverEveryMessageOnceOverAConnectionThatBreaks) {
  const auto [placement, seed] = GetParam();
  constexpr std::size_t kAtOnce = 6;
  constexpr std::size_t kUses = 60;
  std::mt19937 random(seed);
  Side a(placement);
  Side b(placement);
  std::deque<std::unique_ptr<Use>> running;
  std::vector<std::unique_ptr<Use>> over;
  std::size_t made = 0;
  std::uint32_t last_number = 0;
  inject("error:chance=0.01; lost-answer:chance=0.01; qp-error:chance=0.005; seed=" +
         std::to_string(seed));
  const auto end = Clock::now() + kPatience;
  enum { all, one_side, one_flow } who = all;  // inside weft, for some turns
  std::uint64_t change = 0;
  for (std::uint64_t turn = 0; over.size() < kUses; ++turn) {
    ASSERT_LT(Clock::now(), end) << over.size() << " of " << made;
    if (made < kUses && running.size() < kAtOnce && random() % 20 == 0) {
      running.push_back(std::make_unique<Use>(random, a, b));
      if (++made == kUses) inject("");  // so that it comes to an end
    }
    if (turn >= change) {
      who = std::array{all, one_side, one_flow}[random() % 3];
      change = turn + random() % 600;
    }
    for (auto& use : running) {
      for (std::size_t which = 0; which < 2; ++which) {
        if (who == one_side && which == 1) continue;
        if (who == one_flow && use != running.front()) continue;
        if (random() % 2 == 0) continue;
        ASSERT_TRUE(use->turn(which)) << use->failure(which);
      }
    }
    for (auto at = running.begin(); at != running.end();) {
      if (!(*at)->is_over()) {
        ++at;
        continue;
      }
      last_number = std::max({last_number, (*at)->number(0), (*at)->number(1)});
      over.push_back(std::move(*at));
      at = running.erase(at);
    }
    if (running.empty()) {
      a.endpoint.poll();
      b.endpoint.poll();
    }
    if (a.endpoint.recoveries().recovering() != 0) std::this_thread::yield();
  }
  for (const auto& use : over) EXPECT_TRUE(use->is_left_alone());
  EXPECT_GT(a.endpoint.recoveries().reconnections(), 5u) << "the case did not arise";
  EXPECT_EQ(a.group.lanes(), 1u);
  // Flows that were closed are used again, also those that were closed while it was broken.
  EXPECT_LT(last_number, kUses / 2);
  EXPECT_EQ(a.endpoint.troubled(), 0u);
}

/// A rank that has sent what it had to and is elsewhere: its caretaker alone mends the connection
/// and sends again what was lost.
class Absentee {
 public:
  Absentee(Side& side, Side& peer, int flows) : side_(&side) {
    for (int i = 0; i < flows; ++i) {
      FlowOffer offer(side.group, kRendezvousBytes);
      FlowOffer peer_offer(peer.group, kRendezvousBytes);
      const std::string text = offer.text();
      flows_.push_back(&offer.accept(peer_offer.text()));
      peer_flows_.push_back(&peer_offer.accept(text));
    }
    side.endpoint.set_caretaker([this] { return take_care(); });
  }
  ~Absentee() { side_->endpoint.set_caretaker({}); }

  /// Whether the peer received `messages`, which this rank sends on random flows before it leaves.
  bool deliver(std::mt19937& random, std::vector<std::unique_ptr<Message>>& messages,
               Clock::time_point end) {
    std::unique_lock here(turn_);
    for (const auto& message : messages) {
      const std::size_t flow = random() % flows_.size();
      flows_[flow]->channel.send(message->send);
      peer_flows_[flow]->channel.recv(message->recv);
    }
    while (!std::ranges::all_of(messages, [](const auto& one) { return one->send.done; })) {
      if (!progress(flows_) || !progress(peer_flows_) || Clock::now() > end) return false;
    }
    here.unlock();
    for (int turn = 0; !is_received(messages); ++turn) {
      if (!progress(peer_flows_) || Clock::now() > end) return false;
      if (turn % 100 == 0) peer_flows_[random() % flows_.size()]->channel.probe();
      std::this_thread::yield();
    }
    return true;
  }
  int cares() const { return cares_.load(); }

 private:
  static bool is_received(std::vector<std::unique_ptr<Message>>& messages) {
    return std::ranges::all_of(messages, [](const auto& message) {
      message->take_back();
      return message->is_received;
    });
  }
  static bool progress(const std::vector<Flow*>& flows) {
    return std::ranges::all_of(
        flows, [](Flow* flow) { return flow->channel.progress() != Status::failed; });
  }
  bool take_care() {
    ++cares_;
    const std::lock_guard lock(turn_);
    side_->endpoint.poll();
    progress(flows_);
    return side_->endpoint.is_mending();
  }

  Side* side_;
  std::mutex turn_;
  std::atomic<int> cares_{0};
  std::vector<Flow*> flows_, peer_flows_;
};

TEST_P(Flows, DeliverEveryMessageOnceWhileItsSenderIsElsewhere) {
  const auto [placement, seed] = GetParam();
  constexpr int kRounds = 200;
  std::mt19937 random(seed);
  Side a(placement);
  Side b(placement);
  Absentee absentee(a, b, 3);
  inject("error:chance=0.02; lost-answer:chance=0.02; qp-error:chance=0.005; seed=" +
         std::to_string(seed));
  const auto end = Clock::now() + kPatience;
  std::vector<std::unique_ptr<Message>> all;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<Message>> messages;
    for (std::size_t n = 1 + random() % 3; n-- > 0;) {
      messages.push_back(std::make_unique<Message>(random, a, b, 1 + random() % 4000));
    }
    ASSERT_TRUE(absentee.deliver(random, messages, end)) << "round " << round;
    for (auto& message : messages) all.push_back(std::move(message));
  }
  inject("");
  const auto guard = a.endpoint.guard();
  EXPECT_GT(a.endpoint.recoveries().reconnections(), 5u) << "the case did not arise";
  EXPECT_GT(absentee.cares(), 5) << "nobody was away";
  for (const auto& message : all) EXPECT_TRUE(message->is_left_alone());
}

/// Threads with communicators of their own over one connection.
TEST_P(Flows, MayBeUsedByAThreadEach) {
  const auto [placement, seed] = GetParam();
  constexpr unsigned kThreads = 3;
  constexpr int kUses = 12;
  Side a(placement);
  Side b(placement);
  inject("error:chance=0.005; lost-answer:chance=0.005; seed=" + std::to_string(seed));
  const auto end = Clock::now() + kPatience;
  const auto run = [&](unsigned thread) {
    std::mt19937 random(seed * kThreads + thread);
    for (int i = 0; i < kUses; ++i) {
      Use use(random, a, b);
      while (!use.is_over()) {
        ASSERT_LT(Clock::now(), end) << "thread " << thread << ", use " << i;
        ASSERT_TRUE(use.turn(0)) << use.failure(0);
        ASSERT_TRUE(use.turn(1)) << use.failure(1);
      }
      EXPECT_TRUE(use.is_left_alone());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) threads.emplace_back(run, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(a.endpoint.troubled(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Polled, Flows,
                         testing::Combine(testing::Values(Placement::polled),
                                          testing::Range(0u, seeds())));
INSTANTIATE_TEST_SUITE_P(Announced, Flows,
                         testing::Combine(testing::Values(Placement::immediate),
                                          testing::Range(0u, seeds())));

}  // namespace
}  // namespace weft::verbs::flow_test
