// Connections that break in the middle of alltoalls: the answers are right all the same, or every
// rank says why not, in time.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "processes.hpp"
#include "verbs/library.hpp"

namespace weft {
namespace {

constexpr int kRanks = 4;
const std::vector<std::size_t> kCounts = {1, 100, 3000, 40000};

/// From here on the software device of this process has these faults.
void inject(const std::string& faults) {
  void* device = ::dlopen(verbs::soft_device_path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (device == nullptr) throw Error("the software device is not loaded");
  auto* call = reinterpret_cast<int (*)(const char*)>(::dlsym(device, "weft_soft_inject"));
  if (call == nullptr || call(faults.c_str()) != 0) throw Error("not injected: " + faults);
}

/// Alltoalls of several sizes with contents of their own, all of it checked; "" or what was wrong.
std::string exchange(Communicator& comm, int round) {
  const int ranks = comm.size();
  const auto value = [&](int from, int to, std::size_t i) {
    return static_cast<int>(i) + 7919 * (from * ranks + to) + 104729 * round;
  };
  for (const std::size_t count : kCounts) {
    std::vector<int> input(static_cast<std::size_t>(ranks) * count);
    std::vector<int> output(input.size(), -1);
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = value(comm.rank(), static_cast<int>(i / count), i % count);
    }
    comm.alltoall<int>(input, output);
    for (std::size_t i = 0; i < output.size(); ++i) {
      const int from = static_cast<int>(i / count);
      if (output[i] == value(from, comm.rank(), i % count)) continue;
      return fmt::format("round {}, {} elements: element {} from rank {} is wrong", round, count,
                         i % count, from);
    }
  }
  return "";
}

struct Weather {
  const char* name;
  const char* faults;
  int rounds;
};
void PrintTo(const Weather& weather, std::ostream* out) {
  *out << weather.name;
}

class Recovery : public testing::TestWithParam<std::tuple<Weather, const char*>> {};

TEST_P(Recovery, BringsEveryMessageOnce) {
  const auto& [weather, placement] = GetParam();
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
                     testing::Values("polled", "immediate")),
    [](const auto& one) {
      return std::string(std::get<0>(one.param).name) + std::get<1>(one.param);
    });

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
    if (rank == 0) inject("error:at=5");
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
    if (rank == 0) inject("error:at=5,status=remote-access");
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
}  // namespace weft
