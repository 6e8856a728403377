// Several rails between nodes: how messages are spread over them, and the loss of a rail.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <numeric>
#include <thread>

#include "base/error.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/trouble.hpp"

namespace weft::rails_test {
namespace {

using test::exchange;
using test::inject;

using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr int kRanks = 4;
// Faults are counted in messages, so algorithms are the fixed ones, by which every rank sends.
const Settings kTwoRails = {{"WEFT_NODES", "2"},        {"WEFT_PROFILE", "none"},
                            {"WEFT_SOFT_DEVICES", "2"}, {"WEFT_RC_TIMEOUT", "8"},
                            {"WEFT_RC_RETRY", "1"},     {"WEFT_RECOVERY", "20"}};

Settings with(Settings settings, const std::string& name, const std::string& value) {
  for (auto& [one, old] : settings) {
    if (one == name) old = value;
  }
  return settings;
}

std::uint64_t sent(const Communicator& comm, std::size_t rail) {
  return comm.statistics().rails.at(rail).sent_bytes;
}

/// One alltoall of large blocks.
void send_large(Communicator& comm) {
  const std::size_t block = std::size_t{1} << 20;
  std::vector<std::byte> input(block * static_cast<std::size_t>(comm.size()));
  std::vector<std::byte> output(input.size());
  comm.alltoall(input.data(), output.data(), block);
}

TEST(Rails, ShareLargeMessagesEvenlyAndLeaveSmallOnesToOne) {
  const auto body = [](int rank) -> std::string {
    Options options;
    options.algorithms["alltoall"] = "isend";
    Communicator comm(tcp_bootstrap(), options);
    std::vector<int> small(kRanks);
    std::vector<int> result(kRanks);
    for (int i = 0; i < 100; ++i) comm.alltoall<int>(small, result);
    const std::uint64_t first = sent(comm, 0);
    const std::uint64_t second = sent(comm, 1);
    // Ranks of a node that are as near to both take turns.
    const bool right = rank % 2 == 0 ? first > 0 && second == 0 : first == 0 && second > 0;
    if (!right) return fmt::format("small: {} and {} bytes", first, second);
    send_large(comm);
    const auto share = static_cast<double>(sent(comm, 0) - first) /
                       static_cast<double>(sent(comm, 0) - first + sent(comm, 1) - second);
    if (share < 0.45 || share > 0.55) return fmt::format("large: a share of {}", share);
    if (auto other = test::other_than("isend", "alltoall", comm); !other.empty()) return other;
    return exchange(comm, 0);
  };
  for (const auto& end : test::run_processes(kRanks, kTwoRails, body)) EXPECT_EQ(end.said, "");
}

TEST(Rails, HaveAConnectionToEachOtherNodeAtTheMostUnderAggregation) {
  constexpr int kNodes = 3;
  for (const char* algorithm : {"sa", "rd"}) {
    const auto body = [&](int) -> std::string {
      Options options;
      options.algorithms["alltoall"] = algorithm;
      Communicator comm(tcp_bootstrap(), options);
      if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
      if (auto other = test::other_than(algorithm, "alltoall", comm); !other.empty()) return other;
      const Statistics statistics = comm.statistics();
      std::string said = fmt::format("{}:", statistics.connections);
      for (const auto& rail : statistics.rails) {
        said += fmt::format(" {} {}", rail.name, rail.connections);
      }
      return said;
    };
    const auto ended = test::run_processes(
        2 * kNodes, {{"WEFT_NODES", std::to_string(kNodes)}, {"WEFT_SOFT_DEVICES", "2"}}, body);
    for (const auto& end : ended) {
      EXPECT_EQ(end.said, "4: weft_soft0:1 2 weft_soft1:1 2") << algorithm;
    }
  }
}

TEST(Rails, AreThoseThatAreNamed) {
  const auto body = [](int) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    return comm.statistics().device;
  };
  const std::pair<const char*, const char*> cases[] = {
      {"weft_soft2:1", "weft_soft2 port 1 (software device)"},
      {"weft_soft2,weft_soft0",
       "weft_soft2 port 1 (software device), weft_soft0 port 1 (software device)"},
      {"weft_soft0,weft_soft0:1",
       "WEFT_DEVICE=weft_soft0,weft_soft0:1: weft_soft0:1 is named twice"},
      {"weft_soft0:2", "WEFT_DEVICE=weft_soft0:2: weft_soft0:2 does not exist or is not active"},
      {"soft,nonsense",
       "WEFT_DEVICE=soft,nonsense: there is no device nonsense; there are: weft_soft0, weft_soft1, "
       "weft_soft2 (or: soft)"},
  };
  for (const auto& [device, said] : cases) {
    const auto ended = test::run_processes(
        2, {{"WEFT_NODES", "2"}, {"WEFT_SOFT_DEVICES", "3"}, {"WEFT_DEVICE", device}}, body);
    for (const auto& end : ended) EXPECT_EQ(end.said, said);
  }
}

TEST(Rails, ThatOneEndLacksAreNotUsed) {
  const auto body = [](int rank) -> std::string {
    if (rank == 0) ::setenv("WEFT_DEVICE", "weft_soft0", 1);
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    return fmt::format("{} connections", comm.statistics().connections);
  };
  for (const auto& end : test::run_processes(2, kTwoRails, body)) {
    EXPECT_EQ(end.said, "1 connections");
  }
}

struct Loss {
  const char* name;
  const char* faults;  // of the last rank
};
void PrintTo(const Loss& loss, std::ostream* out) {
  *out << loss.name;
}

class LostRail : public testing::TestWithParam<std::tuple<Loss, const char*>> {};

TEST_P(LostRail, LeavesTheOthersToCarryAll) {
  const auto& [loss, placement] = GetParam();
  const auto body = [&faults = loss.faults](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    if (rank == kRanks - 1) inject(faults);
    for (int round = 1; round <= 20; ++round) {
      if (const std::string wrong = exchange(comm, round); !wrong.empty()) return wrong;
    }
    // The port is still down, so what is sent from now on takes the other rail.
    const std::uint64_t first = sent(comm, 0);
    const std::uint64_t second = sent(comm, 1);
    if (const std::string wrong = exchange(comm, 21); !wrong.empty()) return wrong;
    if (rank != kRanks - 1) return "right";
    const bool one_carried_nothing = sent(comm, 0) == first || sent(comm, 1) == second;
    return fmt::format("{} after {} reconnections", one_carried_nothing ? "right" : "both used",
                       comm.statistics().reconnections);
  };
  auto settings = kTwoRails;
  settings.emplace_back("WEFT_PLACEMENT", placement);
  const auto ended = test::run_processes(kRanks, settings, body);
  for (const auto& end : ended) EXPECT_EQ(end.said.find("right"), 0u) << end.said;
  EXPECT_EQ(ended.back().said.find("right after 0 "), std::string::npos) << "no rail was lost";
}

// The first four queue pairs of a process are the control paths and the liveness responders of its
// two rails; then come those of its first connection.
INSTANTIATE_TEST_SUITE_P(Rails, LostRail,
                         testing::Combine(testing::Values(Loss{"AtOnceTheOneInUse",
                                                               "port-down:at=1"},
                                                          Loss{"InTheMiddle", "port-down:at=40"},
                                                          Loss{"First", "port-down:at=2,qp=5"},
                                                          Loss{"Second", "port-down:at=2,qp=6"}),
                                          testing::Values("polled", "immediate")),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) + std::get<1>(one.param);
                         });

/// What a rank has sent by a rail before it left is lost with the rail. The rank that waits for it
/// sends by the other one and sees nothing of that.
TEST(Rails, LostBehindARankThatHasLeftAreNoticedForIt) {
  auto* arrived = static_cast<std::atomic<int>*>(::mmap(nullptr, sizeof(std::atomic<int>),
                                                        PROT_READ | PROT_WRITE,
                                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(arrived, MAP_FAILED);
  const auto body = [arrived](int rank) -> std::string {
    Options options;
    options.algorithms["broadcast"] = "sequential";
    Communicator comm(tcp_bootstrap(), options);
    int value = rank == 1 ? 4711 : 0;
    comm.broadcast(&value, sizeof value, 1);
    comm.barrier();
    if (rank == 1) inject("port-down:at=1");
    value *= rank == 1 ? 2 : 0;
    comm.broadcast(&value, sizeof value, 1);
    if (rank == 2) arrived->store(value);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (rank != 2 && arrived->load() == 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    const int come = arrived->load();
    comm.barrier();
    if (auto other = test::other_than("sequential", "broadcast", comm); !other.empty()) {
      return other;
    }
    const bool is_mended = rank == 0 || comm.statistics().reconnections > 0;
    return fmt::format("{}, {}", come, is_mended ? "mended" : "no rail was lost");
  };
  // Ranks 0 and 1 of a node take turns with its rails.
  const auto ended = test::run_processes(3, with(kTwoRails, "WEFT_NODES", "0,0,1"), body);
  for (const auto& end : ended) EXPECT_EQ(end.said, "9422, mended");
  ::munmap(arrived, sizeof(std::atomic<int>));
}

TEST(Rails, ThatComeBackAreUsedAgain) {
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    if (rank == kRanks - 1) inject("port-down:at=2,qp=6,for=100ms");
    for (int round = 1; round <= 10; ++round) {
      if (const std::string wrong = exchange(comm, round); !wrong.empty()) return wrong;
    }
    // All ranks do as many rounds as the last one needs to see it.
    for (int round = 0; round < 100000; ++round) {
      const std::uint64_t first = sent(comm, 0);
      const std::uint64_t second = sent(comm, 1);
      send_large(comm);
      std::vector<int> mine(kRanks, sent(comm, 0) != first && sent(comm, 1) != second ? 1 : 0);
      std::vector<int> all(kRanks);
      comm.alltoall<int>(mine, all);
      if (std::accumulate(all.begin(), all.end(), 0) == kRanks) return exchange(comm, 11);
    }
    return "it never came back";
  };
  for (const auto& end : test::run_processes(kRanks, kTwoRails, body)) EXPECT_EQ(end.said, "");
}

TEST(Rails, AllLostEndEveryRankWithTheReason) {
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm, 0); !wrong.empty()) return wrong;
    // First one, and some rounds later all: a fault that waits for no message is every port's.
    if (rank == kRanks - 1) inject("port-down:at=20");
    for (int round = 1;; ++round) {
      if (rank == kRanks - 1 && round == 6) inject("port-down");
      if (const std::string wrong = exchange(comm, round); !wrong.empty()) return wrong;
    }
  };
  const auto ended = test::run_processes(kRanks, with(kTwoRails, "WEFT_RECOVERY", "1"), body);
  int gave_up = 0;
  for (const auto& end : ended) {
    EXPECT_TRUE(end.in_time);
    const bool reason = end.said.find("(WEFT_RECOVERY) by weft_soft0") != std::string::npos;
    gave_up += reason ? 1 : 0;
    EXPECT_TRUE(reason || end.said.find(" has ended in the middle") != std::string::npos)
        << end.said;
    EXPECT_EQ(end.said.find("rank "), 0u) << end.said;
  }
  EXPECT_GT(gave_up, 0);
}

TEST(Rails, DoNotHideARankThatIsKilled) {
  const int victim = kRanks - 1;
  const auto body = [&](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    for (int round = 0;; ++round) {
      if (rank == victim && round == 5) inject("port-down:at=1");
      if (rank == victim && round == 10) ::raise(SIGKILL);
      if (const std::string wrong = exchange(comm, round); !wrong.empty()) return wrong;
    }
  };
  const auto ended = test::run_processes(kRanks, kTwoRails, body);
  EXPECT_EQ(ended.back().signal, SIGKILL);
  for (int rank = 0; rank < victim; ++rank) {
    const auto& end = ended[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(end.in_time);
    EXPECT_NE(end.said.find("rank 3"), std::string::npos) << end.said;
  }
}

}  // namespace
}  // namespace weft::rails_test
