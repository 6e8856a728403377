// Connections that break in the middle of alltoalls: the results are right all the same, or every
// rank ends with the reason, in time.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/trouble.hpp"

namespace weft::recovery_test {
namespace {

using test::exchange;
using test::inject;

constexpr int kRanks = 4;

struct Weather {
  const char* name;
  const char* faults;
  int rounds;
};
void PrintTo(const Weather& weather, std::ostream* out) {
  *out << weather.name;
}

class Recovery : public testing::TestWithParam<std::tuple<Weather, const char*, const char*>> {};

TEST_P(Recovery, DeliversEveryMessageOnce) {
  const auto& [weather, placement, rails] = GetParam();
  const auto body = [&weather = weather](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    // Connections and plans are made first: a rank that waits in the bootstrap answers nobody.
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    inject(fmt::format("{}; seed={}", weather.faults, 17 + rank));
    for (int round = 1; round <= weather.rounds; ++round) {
      if (const std::string wrong = exchange(comm, round); !wrong.empty()) return wrong;
    }
    inject("");
    return fmt::format("right after {} reconnections", comm.statistics().reconnections);
  };
  const auto ended = test::run_processes(kRanks,
                                         {{"WEFT_NODES", "2"},
                                          {"WEFT_PLACEMENT", placement},
                                          {"WEFT_SOFT_DEVICES", rails},
                                          {"WEFT_RC_TIMEOUT", "8"},
                                          {"WEFT_RC_RETRY", "1"},
                                          {"WEFT_RECOVERY", "40"}},
                                         body);
  bool some = false;
  for (const auto& end : ended) {
    EXPECT_EQ(end.said.find("right after "), 0u) << end.said;
    some = some || end.said.find("after 0 ") == std::string::npos;
  }
  EXPECT_TRUE(some) << "no connection broke";
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Recovery,
    testing::Combine(testing::Values(Weather{"Errors", "error:chance=0.02", 20},
                                     Weather{"Flushes", "qp-error:chance=0.02", 20},
                                     Weather{"LostAnswers", "lost-answer:chance=0.02", 20},
                                     Weather{"PortDown", "port-down:at=9,for=100ms", 5}),
                     testing::Values("polled", "immediate"), testing::Values("1", "2", "3")),
    [](const auto& one) {
      return std::string(std::get<0>(one.param).name) + std::get<1>(one.param) + "On" +
             std::get<2>(one.param);
    });

TEST(RecoveryOfARankOutsideWeft, WaitsUntilItCalls) {
  constexpr std::chrono::milliseconds recovery(1000);
  const auto body = [&](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    // The others lose their connections to a rank that computes, and wait for it.
    if (rank == kRanks - 1) {
      std::this_thread::sleep_for(recovery * 5 / 2);
    } else {
      inject("error:at=1");
    }
    for (int round = 1; round <= 3; ++round) {
      if (const std::string wrong = exchange(comm, round); !wrong.empty()) return wrong;
    }
    if (auto other = test::other_than("sa", "alltoall", comm); !other.empty()) return other;
    return fmt::format("right after {} reconnections", comm.statistics().reconnections);
  };
  const auto ended =
      test::run_processes(kRanks,
                          {{"WEFT_NODES", "2"},
                           {"WEFT_ALLTOALL", "sa"},  // rank 1 talks to the last one alone
                           {"WEFT_RC_TIMEOUT", "8"},
                           {"WEFT_RC_RETRY", "1"},
                           {"WEFT_RECOVERY", std::to_string(recovery / std::chrono::seconds(1))}},
                          body);
  for (const auto& end : ended) EXPECT_EQ(end.said.find("right after "), 0u) << end.said;
  const std::string& last = ended[kRanks - 1].said;
  EXPECT_EQ(last.find("after 0 "), std::string::npos) << last;
}

/// What ranks tell each other outside of weft.
class Counter {
 public:
  Counter()
      : count_(static_cast<std::atomic<int>*>(::mmap(nullptr, sizeof(std::atomic<int>),
                                                     PROT_READ | PROT_WRITE,
                                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() { ::munmap(count_, sizeof *count_); }
  void add() { count_->fetch_add(1); }
  /// False where that takes too long.
  bool wait_for(int count) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (count_->load() < count && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    return count_->load() >= count;
  }

 private:
  std::atomic<int>* count_;
};

TEST(RecoveryOfARankOutsideWeft, NeedsNoCallOfIt) {
  constexpr int kRounds = 40;
  Counter received;
  const auto body = [&received](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    inject(fmt::format("error:chance=0.02; lost-answer:chance=0.02; seed={}", 17 + rank));
    // The root leaves, and comes again when the others have what it sent.
    for (int round = 0; round < kRounds; ++round) {
      const int root = round % kRanks;
      std::vector<int> words(1 + 97 * static_cast<std::size_t>(round));
      if (rank == root) std::ranges::fill(words, round);
      comm.broadcast(words.data(), words.size() * sizeof(int), root);
      if (std::ranges::count(words, round) != std::ssize(words)) return "other words arrive";
      received.add();
      if (rank == root && !received.wait_for(kRanks * (round + 1))) {
        return fmt::format("not all have received in round {}", round);
      }
    }
    inject("");
    return fmt::format("right after {} reconnections", comm.statistics().reconnections);
  };
  const auto ended = test::run_processes(
      kRanks, {{"WEFT_NODES", "4"}, {"WEFT_RC_TIMEOUT", "8"}, {"WEFT_RC_RETRY", "1"}}, body);
  bool some = false;
  for (const auto& end : ended) {
    EXPECT_EQ(end.said.find("right after "), 0u) << end.said;
    some = some || end.said.find("after 0 ") == std::string::npos;
  }
  EXPECT_TRUE(some) << "no connection broke";
}

TEST(RecoveryThatFails, EndsEveryRankWithTheReason) {
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    if (rank == kRanks - 1) inject("port-down:at=5");
    for (int round = 1;; ++round) {
      if (const std::string wrong = exchange(comm, round); !wrong.empty()) return wrong;
    }
  };
  const auto ended = test::run_processes(kRanks,
                                         {{"WEFT_NODES", "2"},
                                          {"WEFT_RC_TIMEOUT", "8"},
                                          {"WEFT_RC_RETRY", "1"},
                                          {"WEFT_RECOVERY", "1"}},
                                         body);
  // Who learns first that its own time is over is a matter of chance; the others hear of it, or see
  // that a rank has ended.
  int gave_up = 0;
  for (const auto& end : ended) {
    EXPECT_TRUE(end.in_time);
    const bool reason = end.said.find("(WEFT_RECOVERY)") != std::string::npos;
    gave_up += reason ? 1 : 0;
    EXPECT_TRUE(reason || end.said.find(" has ended in the middle") != std::string::npos)
        << end.said;
    EXPECT_EQ(end.said.find("rank "), 0u) << end.said;
  }
  EXPECT_GT(gave_up, 0);
}

TEST(RecoveryThatFails, IsNotTriedWhereItIsTurnedOff) {
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    if (rank == 0) inject("error:every=5");  // one may be a datagram
    for (int round = 1;; ++round) {
      if (const std::string wrong = exchange(comm, round); !wrong.empty()) return wrong;
    }
  };
  const auto ended = test::run_processes(2, {{"WEFT_NODES", "2"}, {"WEFT_RECOVERY", "0"}}, body);
  EXPECT_NE(ended[0].said.find("transport retry"), std::string::npos) << ended[0].said;
  EXPECT_TRUE(ended[1].in_time);
  EXPECT_FALSE(ended[1].said.empty());
}

TEST(RecoveryThatFails, IsNotTriedForARequestThatIsWrong) {
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    if (rank == 0) inject("error:every=5,status=remote-access");  // one may be a datagram
    for (int round = 1;; ++round) {
      if (const std::string wrong = exchange(comm, round); !wrong.empty()) return wrong;
    }
  };
  const auto ended = test::run_processes(2, {{"WEFT_NODES", "2"}}, body);
  EXPECT_NE(ended[0].said.find("remote access error"), std::string::npos) << ended[0].said;
  EXPECT_TRUE(ended[1].in_time);
  EXPECT_FALSE(ended[1].said.empty());
}

}  // namespace
}  // namespace weft::recovery_test
