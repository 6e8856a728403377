// Links that end while their connections break: each rank comes to its end soon, whatever was lost,
// also when its peers have ended before.
#include "engine/run/links.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/verbs/inject_faults.hpp"

namespace weft::engine::links_end_test {
namespace {

using test::inject;
using Clock = std::chrono::steady_clock;
constexpr std::size_t kRanks = 3;
constexpr std::size_t kCommunicators = 3;
// Far less than the time after which a rank gives a broken connection up (WEFT_RECOVERY, 10 s).
constexpr auto kPatience = std::chrono::seconds(5);

Links::Settings settings(verbs::Placement placement) {
  Links::Settings settings;
  settings.port.ports = {{"soft", 0}};
  settings.port.placement = placement;
  settings.port.timeout = 8;
  settings.port.retries = 1;
  return settings;
}

/// Faults of the connections of the next ranks, whose notices come late, but are not lost: the last
/// ones are not sent again. A rank makes a pair for these, one for questions, and one for each
/// connection, in the order in which the ranks connect.
std::string faults_of_connections(unsigned seed) {
  static std::size_t pairs_before = 0;  // of the process, which has no others
  constexpr std::size_t kOfRank = 2 + (kRanks - 1);
  std::string faults = "seed=" + std::to_string(seed);
  for (std::size_t i = 0; i < kRanks * kOfRank; ++i) {
    const std::string pair = ",qp=" + std::to_string(pairs_before + i + 1);
    if (i % kOfRank == 0) faults += "; delay:by=100us" + pair;
    if (i % kOfRank < 2) continue;
    faults += "; error:chance=0.02" + pair + "; lost-answer:chance=0.02" + pair +
              "; qp-error:chance=0.005" + pair;
  }
  pairs_before += kRanks * kOfRank;
  return faults;
}

/// A message of one rank to another on one communicator.
struct Message {
  std::size_t from = 0;
  std::size_t to = 0;
  std::array<std::byte, 64> source{}, target{};
  verbs::Transfer send, recv;
};

/// A rank that is alone on its node, from its first message to the end of its network.
class Rank {
 public:
  Rank(std::size_t number, verbs::Placement placement) : network_(std::make_shared<Network>()) {
    std::vector<int> place_of_rank(kRanks, -1);
    place_of_rank[number] = 0;
    std::vector<int> process_of_rank;
    for (std::size_t peer = 0; peer < kRanks; ++peer) {
      process_of_rank.push_back(static_cast<int>(peer));
      if (peer != number) peers_.push_back(static_cast<int>(peer));
    }
    const NetworkShare share{network_, process_of_rank};
    for (auto& links : links_) {
      links = std::make_unique<Links>(place_of_rank, nullptr, settings(placement), &share);
    }
  }

  Links& links(std::size_t communicator) { return *links_[communicator]; }
  const std::vector<int>& peers() const { return peers_; }
  bool has_ended() const { return network_ == nullptr; }
  std::uint64_t reconnections() const { return reconnections_; }

  /// Moves the rank on. `is_done`: it needs nothing more of its messages, and goes on to its end.
  void turn(bool is_done) {
    if (is_done && phase_ != Phase::ends)
      phase_ = phase_ == Phase::runs ? Phase::closes : Phase::ends;
    if (phase_ == Phase::runs) {
      for (auto& links : links_) {
        for (const int peer : peers_) {
          const verbs::Status status = links->channel(peer)->progress();
          ASSERT_NE(status, verbs::Status::failed) << links->channel(peer)->failure();
        }
      }
      return;
    }
    if (phase_ == Phase::ends) network_->prepare_to_end();
    for (auto& links : links_) {
      if (links != nullptr && links->close()) links.reset();
    }
    const bool is_closed =
        std::ranges::all_of(links_, [](auto& links) { return links == nullptr; });
    if (phase_ != Phase::ends || !is_closed) return;
    reconnections_ = network_->counts().reconnections;
    network_.reset();
  }

 private:
  // As MPI programs: some free their communicators before MPI_Finalize, which ends the network.
  enum class Phase : std::uint8_t { runs, closes, ends };

  Phase phase_ = Phase::runs;
  std::shared_ptr<Network> network_;
  std::array<std::unique_ptr<Links>, kCommunicators> links_;
  std::vector<int> peers_;
  std::uint64_t reconnections_ = 0;
};

class EndOfLinks : public testing::TestWithParam<verbs::Placement> {
 protected:
  void TearDown() override { inject(""); }
};

void connect(std::vector<Rank>& ranks, std::size_t communicator) {
  std::vector<std::vector<std::string>> offers;
  for (Rank& rank : ranks) offers.push_back(rank.links(communicator).offer(rank.peers()));
  for (std::size_t number = 0; number < kRanks; ++number) {
    std::vector<std::string> addresses;
    for (const int peer : ranks[number].peers()) {
      const std::vector<int>& back = ranks[static_cast<std::size_t>(peer)].peers();
      const auto at = std::ranges::find(back, static_cast<int>(number)) - back.begin();
      addresses.push_back(offers[static_cast<std::size_t>(peer)][static_cast<std::size_t>(at)]);
    }
    ranks[number].links(communicator).accept(ranks[number].peers(), addresses);
  }
}

/// Posts messages between random ranks.
std::vector<std::unique_ptr<Message>> begin_messages(std::vector<Rank>& ranks,
                                                     std::mt19937& random) {
  std::vector<std::unique_ptr<Message>> messages;
  for (std::size_t n = random() % 40; n-- > 0;) {
    auto message = std::make_unique<Message>();
    message->from = random() % kRanks;
    message->to = (message->from + 1 + random() % (kRanks - 1)) % kRanks;
    for (auto& byte : message->source) byte = static_cast<std::byte>(random());
    const std::size_t bytes = message->source.size();
    message->send.layout = {message->source.data(), bytes, 1, bytes, 0};
    message->recv.layout = {message->target.data(), bytes, 1, bytes, 0};
    const std::size_t communicator = random() % kCommunicators;
    ranks[message->from]
        .links(communicator)
        .channel(static_cast<int>(message->to))
        ->send(message->send);
    ranks[message->to]
        .links(communicator)
        .channel(static_cast<int>(message->from))
        ->recv(message->recv);
    messages.push_back(std::move(message));
  }
  return messages;
}

TEST_P(EndOfLinks, ComesSoonThoughConnectionsBreak) {
  const unsigned seeds = std::getenv("WEFT_LONG_TESTS") == nullptr ? 200 : 4000;
  std::uint64_t reconnections = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(seed);
    std::vector<Rank> ranks;
    for (std::size_t number = 0; number < kRanks; ++number) ranks.emplace_back(number, GetParam());
    for (std::size_t i = 0; i < kCommunicators; ++i) connect(ranks, i);
    const auto messages = begin_messages(ranks, random);
    inject(faults_of_connections(seed));
    // Of a rank: all that it sends has left, and it has all that it receives.
    const auto is_done = [&](std::size_t number) {
      return std::ranges::all_of(messages, [number](const auto& message) {
        return (message->from != number || message->send.done) &&
               (message->to != number || message->recv.done);
      });
    };
    const auto deadline = Clock::now() + kPatience;
    while (!std::ranges::all_of(ranks, &Rank::has_ended)) {
      ASSERT_LT(Clock::now(), deadline) << "seed " << seed;
      const std::size_t number = random() % kRanks;
      if (ranks[number].has_ended()) continue;
      ranks[number].turn(is_done(number) && random() % 8 == 0);
      ASSERT_FALSE(HasFatalFailure()) << "rank " << number << ", seed " << seed;
    }
    inject("");
    for (const auto& message : messages) EXPECT_EQ(message->target, message->source);
    for (const Rank& rank : ranks) reconnections += rank.reconnections();
  }
  EXPECT_GT(reconnections, seeds / 2) << "the case did not arise";
}

INSTANTIATE_TEST_SUITE_P(Polled, EndOfLinks, testing::Values(verbs::Placement::polled));
INSTANTIATE_TEST_SUITE_P(Announced, EndOfLinks, testing::Values(verbs::Placement::immediate));

}  // namespace
}  // namespace weft::engine::links_end_test
