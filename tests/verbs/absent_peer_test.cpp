// A connection that breaks while one of its ranks is outside weft: the other end waits as long as
// the absent rank's process is known to live, and no longer. Nobody else can speak for it.
#include "verbs/control/liveness_responder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "tests/verbs/inject_faults.hpp"
#include "verbs/channel/channel.hpp"
#include "verbs/connection/endpoint.hpp"
#include "verbs/connection/rc_wire.hpp"

namespace weft::verbs::absent_peer_test {
namespace {

using test::inject;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
constexpr auto kPatience = std::chrono::seconds(30);
constexpr milliseconds kRecovery(1000);

PortSettings settings(milliseconds absence) {
  PortSettings settings;
  settings.ports = {{"soft", 0}};
  settings.timeout = 8;
  settings.retries = 1;
  settings.recovery_s = static_cast<int>(kRecovery / std::chrono::seconds(1));
  settings.absence_ns = std::chrono::nanoseconds(absence).count();
  return settings;
}

struct End {
  explicit End(milliseconds absence) : endpoint(settings(absence)) {}
  Endpoint endpoint;
  std::unique_ptr<RcWire> wire = std::make_unique<RcWire>(endpoint);
  Channel channel{*wire, 8192};

  /// One turn of a rank inside weft.
  Status turn() {
    endpoint.poll();
    return channel.progress();
  }
};

class AbsentPeer : public testing::Test {
 protected:
  void connect(milliseconds absence = milliseconds(0)) {
    for (auto& end : ends_) end = std::make_unique<End>(absence);
    here().wire->connect(there().wire->address());
    there().wire->connect(here().wire->address());
  }
  End& here() { return *ends_[0]; }
  End& there() { return *ends_[1]; }

  /// This end knows that the connection is broken, the other one has not polled.
  void break_here() {
    inject("error:at=1");
    ASSERT_EQ(here().channel.probe(), Status::ok);
    const auto end = Clock::now() + kPatience;
    while (!here().wire->is_recovering() && Clock::now() < end) here().endpoint.poll();
    inject("");
    ASSERT_TRUE(here().wire->is_recovering());
  }
  /// Only this end is inside weft, for so long or until the connection fails.
  Status poll_here(milliseconds time) {
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
      if (here().turn() == Status::failed) return Status::failed;
      std::this_thread::yield();
    }
    return Status::ok;
  }
  /// A message is delivered once both ends are inside weft.
  void expect_exchange() {
    std::array<int, 2> value = {4711, 0};
    std::array<Transfer, 2> transfers;
    for (std::size_t i = 0; i < 2; ++i) {
      transfers[i].layout = {reinterpret_cast<std::byte*>(&value[i]), sizeof(int), 1, sizeof(int)};
    }
    here().channel.send(transfers[0]);
    there().channel.recv(transfers[1]);
    const auto end = Clock::now() + kPatience;
    while (!transfers[1].done && Clock::now() < end) {
      ASSERT_EQ(here().turn(), Status::ok) << here().channel.failure();
      ASSERT_EQ(there().turn(), Status::ok) << there().channel.failure();
    }
    EXPECT_EQ(value[1], 4711);
    EXPECT_EQ(here().endpoint.recoveries().reconnections(), 1u);
  }

  std::array<std::unique_ptr<End>, 2> ends_;
};

TEST_F(AbsentPeer, IsWaitedForWhileItsProcessLives) {
  connect();
  break_here();
  ASSERT_EQ(poll_here(kRecovery * 5 / 2), Status::ok) << here().channel.failure();
  EXPECT_TRUE(here().wire->is_recovering());
  expect_exchange();
}

TEST_F(AbsentPeer, MayItselfHaveNoticedTheBreak) {
  connect();
  break_here();
  std::this_thread::sleep_for(kRecovery * 3 / 2);
  expect_exchange();
}

TEST_F(AbsentPeer, IsNotWaitedForWithoutALivenessResponder) {
  connect();
  break_here();
  for (const auto& rail : there().endpoint.rails()) rail->stop_responder();
  const auto begin = Clock::now();
  EXPECT_EQ(poll_here(kPatience), Status::failed);
  EXPECT_GE(Clock::now() - begin, kRecovery / 2);
  EXPECT_NE(std::string(here().channel.failure()).find("(WEFT_RECOVERY)"), std::string::npos)
      << here().channel.failure();
}

TEST_F(AbsentPeer, IsNotWaitedForWhenItsConnectionIsGone) {
  connect();
  break_here();
  // Its process and its device are still there.
  there().wire.reset();
  EXPECT_EQ(poll_here(kPatience), Status::failed);
}

TEST_F(AbsentPeer, IsWaitedForNoLongerThanTheTimeout) {
  connect(std::chrono::seconds(2));
  break_here();
  const auto begin = Clock::now();
  EXPECT_EQ(poll_here(kPatience), Status::failed);
  EXPECT_GE(Clock::now() - begin, kRecovery * 3 / 2);
  EXPECT_NE(std::string(here().channel.failure()).find("(WEFT_TIMEOUT)"), std::string::npos)
      << here().channel.failure();
}

/// Somebody on the fabric, who knows all numbers of a connection that are no secret.
class Stranger {
 public:
  /// Sends for the end `from` of a connection to the end `to`.
  Stranger(const End& from, const End& to)
      : from_(lane_of(from)), to_(lane_of(to)), endpoint_(settings(milliseconds(0))) {
    ibv_ah_attr route{};
    route.port_num = 1;
    route.dlid = to_.lid;
    route_ = path().create_address(route);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { path().destroy_address(route_); }

  const ControlAddress& control() const { return to_.control; }
  /// Says to `address` that the end has given up.
  void forge(const ControlAddress& address) {
    Notice notice;
    notice.to = to_.queue_pair;
    notice.from = from_.queue_pair;
    notice.epoch = 1;
    notice.flags = Notice::kFailed;
    path().send(route_, address, notice);
    endpoint_.poll();
  }

 private:
  static RcAddress lane_of(const End& end) {
    const std::string address = end.wire->address();
    RcAddress lane;
    std::memcpy(&lane, address.data() + address.size() - sizeof lane, sizeof lane);
    return lane;
  }
  ControlPath& path() { return *endpoint_.rails().front()->control(); }

  RcAddress from_;
  RcAddress to_;
  Endpoint endpoint_;
  ibv_ah* route_ = nullptr;
};

TEST_F(AbsentPeer, IsNotSpokenForByWhoLacksAKeyOrAToken) {
  connect();
  break_here();
  Stranger stranger(there(), here());
  ControlAddress other_key = stranger.control(), other_token = stranger.control();
  other_key.key ^= 1;
  other_token.token ^= 1;
  for (int i = 0; i < 40; ++i) {
    stranger.forge(other_key);
    stranger.forge(other_token);
    ASSERT_EQ(here().turn(), Status::ok) << here().channel.failure();
  }
  expect_exchange();
}

TEST_F(AbsentPeer, IsSpokenForByWhoHasBoth) {
  connect();
  break_here();
  Stranger stranger(there(), here());
  stranger.forge(stranger.control());
  EXPECT_EQ(poll_here(kPatience), Status::failed);
  EXPECT_NE(std::string(here().channel.failure()).find("the peer has given the connection up"),
            std::string::npos)
      << here().channel.failure();
}

TEST(ControlPath, HasAKeyAndATokenOfItsOwn) {
  const Endpoint one(settings(milliseconds(0))), other(settings(milliseconds(0)));
  const auto address_of = [](const Endpoint& end) {
    return end.rails().front()->control()->address();
  };
  const auto responder_of = [](const Endpoint& end) {
    return end.rails().front()->responder()->address();
  };
  EXPECT_NE(address_of(one).key, address_of(other).key);
  EXPECT_NE(address_of(one).token, address_of(other).token);
  EXPECT_NE(address_of(one).key, responder_of(one).key);
  EXPECT_NE(address_of(one).token, responder_of(one).token);
}

TEST(ANotice, IsReadFromBytesOfItsSizeAndTokenOnly) {
  Notice notice, read;
  notice.token = 7;
  notice.reason.fill('x');
  std::array<std::byte, sizeof notice + 1> bytes{};
  std::memcpy(bytes.data(), &notice, sizeof notice);
  const auto whole = std::span(bytes).first(sizeof notice);
  EXPECT_TRUE(decode_notice(whole, 7, read));
  EXPECT_EQ(read.reason.back(), '\0');
  EXPECT_FALSE(decode_notice(whole, 8, read));
  EXPECT_FALSE(decode_notice(bytes, 7, read));
  EXPECT_FALSE(decode_notice(whole.first(whole.size() - 1), 7, read));
  bytes[0] ^= std::byte{1};
  EXPECT_FALSE(decode_notice(whole, 7, read));
}

}  // namespace
}  // namespace weft::verbs::absent_peer_test
