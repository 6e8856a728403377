// The channel over a simulated wire that refuses and delays requests at random: every message of
// any size and layout arrives whole and in order, and nothing else is written.
#include "verbs/channel/channel.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <vector>

namespace weft::verbs::channel_test {
namespace {

/// One end of a wire in memory. Commits and puts take effect later, at random times, in order on
/// each lane; commits take the first lane. In some wires arrivals are announced, and then a
/// commit's last bytes come long before the rest; some have a longer ring. The wire can break and
/// come back: then a part of what was under way has arrived and the rest never will.
class SlowWire final : public Wire {
 public:
  SlowWire(std::mt19937& random, bool puts, std::size_t lanes, std::uint32_t slots)
      : random_(random),
        puts_allowed_(puts),
        announces_(slots == kSlots && random() % 2 == 0),
        joins_(random() % 2 == 0),
        later_(lanes) {
    const std::size_t bytes = inbox_bytes(slots);
    memory_.resize(2 * bytes / sizeof(Line));
    auto* inbox = reinterpret_cast<std::byte*>(memory_.data());
    announces_ ? use_announced_inbox(inbox, announced_) : use_polled_inbox(inbox, slots);
    bounce_memory_.resize(2 * kBounceBytes);
    bounce_out_ = {bounce_memory_.data(), 77};
    bounce_in_ = {bounce_memory_.data() + kBounceBytes, 77};
    outbox_ = inbox_ + bytes;
  }
  void join(SlowWire& peer) { peer_ = &peer; }

  Status commit(std::size_t offset, std::size_t bytes, std::uint64_t last) noexcept override {
    if (broken_) return Status::failed;
    if (down_ || resumable_ || random_() % 4 == 0) return Status::again;
    std::memcpy(outbox_ + offset + bytes - 8, &last, 8);
    std::vector<std::byte> copy(outbox_ + offset, outbox_ + offset + bytes);
    if (peer_->announces_) std::memcpy(peer_->inbox_ + offset + bytes - 8, &last, 8);
    later_.front().emplace_back([this, offset, copy = std::move(copy)](bool whole) {
      // Words arrive whole, the last one last.
      const std::size_t part = whole ? copy.size() : random_() % (copy.size() / 8) * 8;
      std::memcpy(peer_->inbox_ + offset, copy.data(), part);
      if (!whole || peer_->slots() != kSlots) return;
      EXPECT_TRUE(peer_->announced_.update(peer_->inbox_, offset, copy.size()));
    });
    return Status::ok;
  }
  bool joins_commits() const noexcept override { return joins_; }
  bool can_put() const noexcept override { return puts_allowed_; }
  bool needs_keys() const noexcept override { return true; }
  RemoteKeys remote_keys(std::uint32_t key) const noexcept override { return {key, key + 1}; }
  const Bounce* bounce_out() noexcept override { return &bounce_out_; }
  const Bounce* bounce_in() noexcept override { return &bounce_in_; }
  Status put(std::uint64_t remote, const RemoteKeys& keys, const std::byte* local,
             std::uint32_t local_key, std::size_t bytes) noexcept override {
    if (broken_) return Status::failed;
    if (down_ || resumable_ || random_() % 4 == 0) return Status::again;
    EXPECT_EQ(keys, remote_keys(77));
    EXPECT_EQ(local_key, 77u);
    ++puts_;
    ++under_way_;
    later_[random_() % later_.size()].emplace_back([this, remote, local, bytes](bool whole) {
      const std::size_t part = whole ? bytes : random_() % (bytes + 1);
      std::memcpy(reinterpret_cast<std::byte*>(remote), local, part);
      if (!whole) return;
      --under_way_;
      if (later_.size() == 1 || under_way_ == 0) placed_ = puts_ - under_way_;
    });
    return Status::ok;
  }
  bool lands_in_order() const noexcept override {
    return std::all_of(later_.begin() + 1, later_.end(),
                       [](const auto& lane) { return lane.empty(); });
  }
  std::size_t lanes_in_use() const noexcept override { return later_.size(); }
  Status poll() noexcept override {
    if (broken_) return Status::failed;
    if (down_) {
      down_ = random_() % 4 != 0;
      resumable_ = !down_;
      return Status::ok;
    }
    // A put's completion may come long after the peer has its bytes.
    if (random_() % 3 == 0) puts_done_ = placed_;
    for (auto& lane : later_) {
      while (!lane.empty() && random_() % 3 != 0) {
        lane.front()(true);
        lane.pop_front();
      }
    }
    return Status::ok;
  }
  bool resume(Received& peer) noexcept override {
    resumable_ = false;
    puts_done_ = placed_ = puts_;
    under_way_ = 0;
    peer = peer_received_;
    return true;
  }
  const char* failure() const noexcept override { return broken_ ? "cut" : ""; }
  void cut() { broken_ = true; }

  /// Breaks both ends.
  static void interrupt(SlowWire& a, SlowWire& b) {
    for (SlowWire* end : {&a, &b}) end->lose();
    for (SlowWire* end : {&a, &b}) {
      end->peer_->peer_received_ = {windows_finished(end->mailbox()), end->consumed_};
    }
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::mt19937& random_;
  /// Some of what is under way still arrives, in order; its completions are lost.
  void lose() {
    for (auto& lane : later_) {
      for (std::size_t arrives = random_() % (lane.size() + 1); arrives != 0; --arrives) {
        lane.front()(true);
        lane.pop_front();
      }
      if (!lane.empty()) lane.front()(false);
      lane.clear();
    }
    down_ = true;
    resumable_ = false;
  }

  bool puts_allowed_;
  bool announces_;
  bool joins_;
  bool broken_ = false;
  bool down_ = false;
  Received peer_received_;
  std::uint64_t placed_ = 0;
  std::uint64_t under_way_ = 0;  // puts
  SlowWire* peer_ = nullptr;
  std::vector<Line> memory_;
  AnnouncedWords announced_;
  std::vector<std::byte> bounce_memory_;
  Bounce bounce_out_;
  Bounce bounce_in_;
  std::vector<std::deque<std::function<void(bool whole)>>> later_;  // by lane
};

struct Pair {
  explicit Pair(unsigned seed, bool puts = true, std::size_t lanes = 1)
      : random(seed),
        slots(random() % 2 == 0 ? kSlots : 4 * kSlots),
        a(random, puts, lanes, slots),
        b(random, puts, lanes, slots),
        from_a(a, 3000),
        from_b(b, 3000) {
    a.join(b);
    b.join(a);
  }
  std::mt19937 random;
  std::uint32_t slots;  // of the rings
  SlowWire a;
  SlowWire b;
  Channel from_a;
  Channel from_b;
};

/// A message with memory at both ends, each in a layout of its own.
struct Message {
  Message(std::mt19937& random, std::uint64_t bytes) : sent(bytes) {
    for (auto& byte : sent) byte = static_cast<std::byte>(random());
    source = spread(random, bytes, source_memory);
    target = spread(random, bytes, target_memory);
    copy_in(source, 0, sent.data(), bytes);
    untouched = target_memory;
  }
  /// Blocks of a size that divides `bytes`, at some distance.
  static Layout spread(std::mt19937& random, std::uint64_t bytes, std::vector<std::byte>& memory) {
    std::uint64_t count = 1 + random() % 5;
    while (bytes % count != 0) --count;
    const std::uint64_t block = bytes / count;
    const std::uint64_t stride = block + random() % 40;
    memory.assign(count * stride, std::byte{0x5a});
    // Key 0: the registration was refused.
    return {memory.data(), block, count, stride, random() % 3 == 0 ? 0u : 77u};
  }
  /// Overwrites the buffers of transfers that are done, as a program may.
  void take_back() {
    if (send.done && !source_memory.empty()) source_memory.assign(source_memory.size(), kTaken);
    if (!recv.done || taken) return;
    expect_arrived();
    target_memory.assign(target_memory.size(), kTaken);
    taken = true;
  }
  bool is_left_alone() const {
    return std::ranges::all_of(target_memory, [](std::byte byte) { return byte == kTaken; });
  }
  void expect_arrived() {
    std::vector<std::byte> got(sent.size());
    copy_out(target, 0, got.data(), got.size());
    EXPECT_EQ(got, sent);
    copy_in(Layout{untouched.data(), target.block_bytes, target.count, target.stride, 0}, 0,
            sent.data(), sent.size());
    EXPECT_EQ(target_memory, untouched) << "bytes between the blocks were written";
  }
  static constexpr std::byte kTaken{0xa7};
  bool taken = false;
  std::vector<std::byte> sent;
  std::vector<std::byte> source_memory;
  std::vector<std::byte> target_memory;
  std::vector<std::byte> untouched;
  Layout source;
  Layout target;
  Transfer send;
  Transfer recv;
};

/// Sends messages of many sizes both ways. The wire breaks `breaks` times.
void exchange(Pair& pair, int breaks) {
  auto& random = pair.random;
  std::deque<Message> forth;
  std::deque<Message> back;
  for (int i = 0; i < 12; ++i) {
    const auto size = [&] {
      // Breaks mostly affect large messages.
      const bool large = random() % 4 == 0 || (breaks != 0 && random() % 2 == 0);
      return 1 + random() % (!large ? 300 : random() % 8 != 0 ? 40000 : 700000);
    };
    forth.emplace_back(random, size());
    back.emplace_back(random, size());
  }
  // Sends and receives are posted at random moments, each side in its own order; some are to be
  // moved at once.
  std::size_t posted[4] = {};
  const auto post = [&](std::deque<Message>& messages, std::size_t& number, auto post_one) {
    if (number < messages.size() && random() % 3 == 0) post_one(messages[number++]);
  };
  const auto send = [&](Channel& channel) {
    return [&](Message& message) {
      message.send.layout = message.source;
      message.send.done = random() % 2 == 0 && channel.send_now(message.send);
      if (!message.send.done) channel.send(message.send);
    };
  };
  const auto recv = [&](Channel& channel) {
    return [&](Message& message) {
      message.recv.layout = message.target;
      message.recv.done = random() % 2 == 0 && channel.recv_now(message.recv);
      if (!message.recv.done) channel.recv(message.recv);
    };
  };
  const auto post_some = [&] {
    post(forth, posted[0], send(pair.from_a));
    post(forth, posted[1], recv(pair.from_b));
    post(back, posted[2], send(pair.from_b));
    post(back, posted[3], recv(pair.from_a));
  };
  for (int turn = 0; turn < 100000; ++turn) {
    post_some();
    if (breaks != 0 && random() % 12 == 0) {
      SlowWire::interrupt(pair.a, pair.b);
      --breaks;
    }
    Channel& moved = random() % 2 == 0 ? pair.from_a : pair.from_b;
    if (moved.progress() == Status::failed || moved.find_mismatch()) RC_FAIL(moved.failure());
    for (auto* messages : {&forth, &back}) {
      for (Message& message : *messages) message.take_back();
    }
    const bool all_posted =
        posted[0] + posted[1] + posted[2] + posted[3] == 2 * (forth.size() + back.size());
    if (all_posted && pair.from_a.idle() && pair.from_b.idle()) break;
  }
  RC_ASSERT(pair.from_a.idle() && pair.from_b.idle());
  // Writes that are still under way must not change buffers that are in the program's hands again.
  for (int turn = 0; turn < 200; ++turn) {
    if (turn == 20 && breaks != 0) SlowWire::interrupt(pair.a, pair.b);
    RC_ASSERT((turn % 2 == 0 ? pair.from_a : pair.from_b).progress() != Status::failed);
  }
  for (auto* messages : {&forth, &back}) {
    for (Message& message : *messages) {
      RC_ASSERT(message.send.done && message.taken);
      RC_ASSERT(message.is_left_alone());
    }
  }
}

RC_GTEST_PROP(Channel, DeliversEveryMessageInOrderInBothDirections, (unsigned seed, bool puts)) {
  Pair pair(seed, puts);
  exchange(pair, 0);
}

RC_GTEST_PROP(Channel, DeliversEveryMessageOnceOverAWireThatBreaks, (unsigned seed, bool puts)) {
  Pair pair(seed, puts);
  exchange(pair, 200);
}

RC_GTEST_PROP(Channel, DeliversEveryMessageOverLanesThatOvertakeEachOther, (unsigned seed)) {
  Pair pair(seed, true, *rc::gen::inRange<std::size_t>(2, kMaxRails + 1));
  exchange(pair, 0);
}

RC_GTEST_PROP(Channel, DeliversEveryMessageOnceOverLanesThatBreak, (unsigned seed)) {
  Pair pair(seed, true, *rc::gen::inRange<std::size_t>(2, kMaxRails + 1));
  exchange(pair, 200);
}

/// Drives both ends until one fails or both are idle.
void drive(Pair& pair) {
  for (int turn = 0; turn < 100000 && (!pair.from_a.idle() || !pair.from_b.idle()); ++turn) {
    const bool broken = pair.from_a.progress() == Status::failed;
    if (pair.from_b.progress() == Status::failed || broken) return;
  }
}

TEST(Channel, ReportsSizesThatDisagree) {
  for (const auto& [sent, received] : {std::pair(100u, 50u), std::pair(5000u, 4000u)}) {
    Pair pair(7);
    Message message(pair.random, sent);
    Message other(pair.random, received);
    message.send.layout = message.source;
    other.recv.layout = other.target;
    pair.from_a.send(message.send);
    pair.from_b.recv(other.recv);
    drive(pair);
    const std::string why = std::string(pair.from_a.failure()) + pair.from_b.failure();
    EXPECT_EQ(why, "sender and receiver disagree on sizes") << sent << " to " << received;
  }
}

TEST(Channel, FailsForGoodWhenTheWireIsCut) {
  Pair pair(3);
  Message message(pair.random, 100);
  message.send.layout = message.source;
  pair.a.cut();
  pair.from_a.send(message.send);
  EXPECT_EQ(pair.from_a.progress(), Status::failed);
  EXPECT_STREQ(pair.from_a.failure(), "cut");
  EXPECT_EQ(pair.from_a.progress(), Status::failed);
}

TEST(Channel, DeliversArrivedMessagesWhenTheWireIsCutAfterThePeersClose) {
  Pair pair(11);
  Message message(pair.random, 9000);
  Message small(pair.random, 900);
  Message back(pair.random, 100);
  small.send.layout = small.source;
  small.recv.layout = small.target;
  back.send.layout = back.source;
  pair.from_a.send(small.send);
  for (int turn = 0; turn < 100; ++turn) pair.from_a.progress();
  while (pair.from_a.close() == Status::again) {
  }
  for (int turn = 0; turn < 100; ++turn) pair.from_a.progress();
  ASSERT_TRUE(pair.from_b.is_closed_by_peer());
  pair.b.cut();
  pair.from_b.recv(small.recv);
  pair.from_b.send(back.send);
  EXPECT_EQ(pair.from_b.progress(), Status::ok);
  EXPECT_TRUE(back.send.done);
  ASSERT_TRUE(small.recv.done);
  small.expect_arrived();
  // A message that the peer never sent cannot arrive.
  message.recv.layout = message.target;
  pair.from_b.recv(message.recv);
  EXPECT_EQ(pair.from_b.progress(), Status::failed);
}

TEST(Channel, TellsThePeerTheReasonOfItsAbort) {
  Pair pair(5);
  EXPECT_FALSE(pair.from_b.peer_abort());
  pair.from_a.abort("rank 3: out of memory");
  for (int turn = 0; turn < 100 && !pair.from_b.peer_abort(); ++turn) {
    pair.a.poll();
  }
  EXPECT_EQ(pair.from_b.peer_abort(), "rank 3: out of memory");
}

TEST(AnnouncedWords, AreNotReadFromOutsideOfTheInbox) {
  std::vector<std::byte> inbox(kInboxBytes, std::byte{1});
  const auto is_empty = [](const AnnouncedWords& words) {
    return std::ranges::count(words.slot_ends, 0u) == std::ptrdiff_t{kSlots} &&
           words.mailbox.credit == 0 && words.mailbox.closed == 0;
  };
  AnnouncedWords words;
  EXPECT_FALSE(words.update(inbox.data(), 0, 0));
  EXPECT_FALSE(words.update(inbox.data(), kInboxBytes - 8, 16));
  EXPECT_FALSE(words.update(inbox.data(), kInboxBytes, 8));
  EXPECT_FALSE(words.update(inbox.data(), kMailboxOffset - 8, 16));
  // All but the end of a slot.
  EXPECT_TRUE(words.update(inbox.data(), kSlotBytes, kSlotBytes - 8));
  EXPECT_TRUE(is_empty(words));
  EXPECT_TRUE(words.update(inbox.data(), kSlotBytes - 8, kSlotBytes + 8));
  EXPECT_EQ(std::ranges::count(words.slot_ends, 0u), std::ptrdiff_t{kSlots} - 2);
  EXPECT_EQ(words.slot_ends[0], words.slot_ends[1]);
}

}  // namespace
}  // namespace weft::verbs::channel_test
