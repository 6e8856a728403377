// Jobs that stand still: what their postings show from outside, and what they say themselves.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/file.hpp"
#include "engine/board/report.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/run_ranks.hpp"
#include "tests/comm/support/trouble.hpp"

namespace weft::stuck_test {
namespace {

namespace board = engine::board;
using board::Edge;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 4;
constexpr std::chrono::seconds kPatience{40};

pid_t parent_of(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  }
  return 0;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  for (const pid_t process : board::processes_with_board()) {
    if (parent_of(process) == ::getpid()) found.push_back(process);
  }
  return found;
}

/// Looks until a standstill is as wanted; the last one that was seen where that does not happen.
board::Seen wait_until(const std::function<std::vector<pid_t>()>& processes,
                       const std::function<bool(const board::Standstill&)>& is_wanted) {
  board::Seen last;
  const auto deadline = Clock::now() + kPatience;
  while (Clock::now() < deadline) {
    for (board::Seen& seen : board::find_standstills(processes())) {
      last = std::move(seen);
      if (last.standstill.size == kRanks && is_wanted(last.standstill)) return last;
    }
    ::sched_yield();
  }
  ADD_FAILURE() << "not seen; the last: " << board::to_text(last.communicator, last.standstill);
  return last;
}

/// A pipe on which a rank waits outside of weft.
class Gate {
 public:
  Gate() {
    if (::pipe(ends_.data()) != 0) throw Error("pipe");
  }
  ~Gate() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() const { [[maybe_unused]] const auto written = ::write(ends_[1], "x", 1); }
  void pass() const {
    char byte = 0;
    [[maybe_unused]] const auto got = ::read(ends_[0], &byte, 1);
  }

 private:
  std::array<int, 2> ends_{};
};

void sum(Communicator& comm) {
  std::array<int, 3> in{1, 2, 3}, out{};
  comm.allreduce(in.data(), out.data(), in.size(), operation(Operator::sum, Type::int32));
  if (out[1] != 2 * comm.size()) throw Error("wrong sum");
}

bool holds(const board::Standstill& found, Edge::Target target, int rank) {
  return found.waiting.size() == kRanks - 1 && found.edge && found.edge->target == target &&
         found.edge->to == rank && found.edge->wait && found.edge->dependents == kRanks - 2;
}

TEST(StuckThreads, ShowARankThatDoesNotCome) {
  const Gate gate;
  std::thread watch([&] {
    const pid_t self = ::getpid();
    const board::Seen seen =
        wait_until([self] { return std::vector{self}; },
                   [](const auto& found) { return holds(found, Edge::Target::absent, 2); });
    EXPECT_EQ(seen.standstill.absent, std::vector{2});
    EXPECT_EQ(seen.standstill.call->collective, plan::Collective::allreduce);
    EXPECT_EQ(seen.standstill.call->bytes, 12u);
    gate.open();
  });
  const auto errors = test::run_ranks(kRanks, [&](int rank, auto bootstrap) {
    Communicator comm(std::move(bootstrap));
    for (int round = 0; round < 3; ++round) sum(comm);
    if (rank == 2) gate.pass();
    sum(comm);
  });
  watch.join();
  EXPECT_EQ(errors, test::none(kRanks));
}

TEST(StuckThreads, ShowASetUpThatLacksARank) {
  const Gate gate;
  std::thread watch([&] {
    const pid_t self = ::getpid();
    const board::Seen seen = wait_until([self] { return std::vector{self}; },
                                        // Its posting may come later than theirs.
                                        [](const auto& found) {
                                          return found.is_setup &&
                                                 found.waiting.size() == kRanks - 1 &&
                                                 found.absent == std::vector{1};
                                        });
    ASSERT_TRUE(seen.standstill.edge.has_value());
    EXPECT_EQ(seen.standstill.edge->to, 1);
    gate.open();
  });
  const auto errors = test::run_ranks(kRanks, [&](int rank, auto bootstrap) {
    Communicator comm(std::move(bootstrap));
    if (rank == 1) gate.pass();
    sum(comm);
  });
  watch.join();
  EXPECT_EQ(errors, test::none(kRanks));
}

TEST(StuckThreads, NameBothCallsOfAMismatch) {
  const auto errors = test::run_ranks(kRanks, [&](int rank, auto bootstrap) {
    Communicator comm(std::move(bootstrap));
    std::array<char, 64> data{};
    for (const int root : {0, 1}) comm.broadcast(data.data(), data.size(), root);
    comm.broadcast(data.data(), data.size(), rank == 3 ? 1 : 0);
    for (int later = 0; later < 100; ++later) comm.barrier();
  });
  bool names_both = false;
  for (const std::string& error : errors) {
    EXPECT_EQ(error.find("ranks disagree: "), 0u) << error;
    names_both = names_both || (error.find("with root 0") != error.npos &&
                                error.find("with root 1") != error.npos);
  }
  EXPECT_TRUE(names_both) << errors.front();
}

// Forks beside a thread that looks at the processes: a sanitizer's allocator may be locked then,
// and stays so in the child.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMayForkBesideAThread = false;
#else
constexpr bool kMayForkBesideAThread = true;
#endif

class StuckProcesses : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!kMayForkBesideAThread) GTEST_SKIP() << "a sanitizer's allocator does not survive that";
  }
};

TEST_P(StuckProcesses, ShowARankThatDoesNotCome) {
  const Gate gate;
  std::thread watch([&] {
    const board::Seen seen = wait_until(
        children, [](const auto& found) { return holds(found, Edge::Target::absent, 2); });
    EXPECT_EQ(seen.standstill.absent, std::vector{2});
    EXPECT_TRUE(seen.standstill.unknown.empty());
    EXPECT_TRUE(seen.standstill.dead.empty());
    EXPECT_EQ(seen.standstill.call->algorithm.empty(), false);
    gate.open();
  });
  const auto ended = test::run_processes(kRanks, {{"WEFT_NODES", GetParam()}}, [&](int rank) {
    Communicator comm(tcp_bootstrap());
    for (int round = 0; round < 3; ++round) sum(comm);
    if (rank == 2) gate.pass();
    sum(comm);
    return std::string("right");
  });
  watch.join();
  for (const auto& one : ended) EXPECT_EQ(one.said, "right");
}

TEST_P(StuckProcesses, ShowARankThatIsStopped) {
  std::thread watch([&] {
    const board::Seen seen = wait_until(
        children, [](const auto& found) { return holds(found, Edge::Target::stopped, 3); });
    EXPECT_EQ(seen.standstill.stopped, std::vector{3});
    ASSERT_EQ(seen.communicator.ranks.size(), std::size_t{kRanks});
    EXPECT_EQ(seen.communicator.ranks[3].process.state, 'T');
    ::kill(seen.communicator.ranks[3].process.number, SIGCONT);
  });
  const auto ended = test::run_processes(kRanks, {{"WEFT_NODES", GetParam()}}, [&](int rank) {
    Communicator comm(tcp_bootstrap());
    for (int round = 0; round < 3; ++round) sum(comm);
    if (rank == 3) ::raise(SIGSTOP);
    sum(comm);
    return std::string("right");
  });
  watch.join();
  for (const auto& one : ended) EXPECT_EQ(one.said, "right");
}

INSTANTIATE_TEST_SUITE_P(Nodes, StuckProcesses, testing::Values("1", "2"),
                         [](const auto& one) { return std::string("On") + one.param; });

// The message is late by more than a minute, and no connection breaks: nobody mends it.
TEST(StuckOverTheDevice, ShowsTheMessageThatDoesNotCome) {
  if (!kMayForkBesideAThread) GTEST_SKIP() << "a sanitizer's allocator does not survive that";
  std::thread watch([&] {
    const board::Seen seen = wait_until(children, [](const auto& found) {
      return found.edge && found.edge->wait && found.edge->wait->over_device &&
             found.edge->wait->kind == board::WaitKind::recv && found.absent.empty() &&
             found.waiting.size() >= 2;
    });
    EXPECT_FALSE(seen.standstill.edge->wait->broken);
    EXPECT_EQ(seen.standstill.edge->wait->bytes, 12u);
    const auto link = seen.standstill.edge->wait->link;
    ASSERT_TRUE(link);
    EXPECT_EQ(link->queue_pairs, 1);
    EXPECT_EQ(link->ready, 1);
    EXPECT_EQ(link->reconnections, 0u);
    for (const pid_t process : children()) ::kill(process, SIGKILL);
  });
  test::run_processes(kRanks, {{"WEFT_NODES", "2"}, {"WEFT_RECOVERY", "0"}}, [&](int rank) {
    Communicator comm(tcp_bootstrap());
    for (int round = 0; round < 3; ++round) sum(comm);
    if (rank / 2 == 0) test::inject("delay:by=100s");
    sum(comm);
    return std::string("right");
  });
  watch.join();
}

/// What ranks say on standard error.
class Said {
 public:
  Said() {
    if (::pipe(ends_.data()) != 0) throw Error("pipe");
  }
  ~Said() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;
  /// In a rank.
  void take_errors() const { ::dup2(ends_[1], STDERR_FILENO); }
  /// Waits until they have said these; all of it.
  std::string wait_for(std::vector<std::string> parts) {
    const auto deadline = Clock::now() + kPatience;
    const auto is_said = [this](const std::string& part) {
      return said_.find(part) != std::string::npos;
    };
    while (std::erase_if(parts, is_said), !parts.empty()) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd ready{ends_[0], POLLIN, 0};
      std::array<char, 4096> text{};
      if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) <= 0) {
        ADD_FAILURE() << "not said: " << parts.front() << "; but: " << said_;
        break;
      }
      const ssize_t bytes = ::read(ends_[0], text.data(), text.size());
      said_.append(text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    }
    return said_;
  }

 private:
  std::array<int, 2> ends_{};
  std::string said_;
};

// The ranks of the other node are outside of weft: the thread of their liveness responder answers.
TEST(StuckOverTheDevice, SaysAfterTheTimeoutWhatRanksOfAnotherNodeDo) {
  if (!kMayForkBesideAThread) GTEST_SKIP() << "a sanitizer's allocator does not survive that";
  Said said;
  const Gate gate;
  std::thread watch([&] {
    const std::string all =
        said.wait_for({"not arrived: ranks 2-3", "has not entered the call", "blocked at: rank "});
    EXPECT_EQ(all.find("not known here"), all.npos) << all;
    gate.open();
    gate.open();
  });
  const auto ended = test::run_processes(kRanks, {{"WEFT_NODES", "2"}, {"WEFT_TIMEOUT", "1"}},
                                         [&](int rank) -> std::string {
                                           said.take_errors();
                                           Communicator comm(tcp_bootstrap());
                                           for (int round = 0; round < 3; ++round) sum(comm);
                                           if (rank >= 2) {
                                             gate.pass();
                                             return "late";
                                           }
                                           sum(comm);
                                           return "right";
                                         });
  watch.join();
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_NE(ended[static_cast<std::size_t>(rank)].said.find("WEFT_TIMEOUT"), std::string::npos)
        << ended[static_cast<std::size_t>(rank)].said;
  }
}

TEST(StuckReport, IsSaidOfASetUpThatTakesLonger) {
  if (!kMayForkBesideAThread) GTEST_SKIP() << "a sanitizer's allocator does not survive that";
  Said said;
  const Gate gate;
  std::thread watch([&] {
    said.wait_for({"in a set-up, which goes on waiting", "not arrived: rank 1",
                   "waits for rank 1 to set the call up; rank 1 has not entered the call"});
    gate.open();
  });
  const auto ended =
      test::run_processes(kRanks, {{"WEFT_TIMEOUT", "1"}}, [&](int rank) -> std::string {
        said.take_errors();
        Communicator comm(tcp_bootstrap());
        if (rank == 1) gate.pass();
        sum(comm);
        return "right";
      });
  watch.join();
  for (const auto& one : ended) EXPECT_EQ(one.said, "right");
}

TEST(StuckReport, IsSaidOnASignalAndTheRankGoesOn) {
  if (!kMayForkBesideAThread) GTEST_SKIP() << "a sanitizer's allocator does not survive that";
  Said said;
  const Gate gate;
  std::thread watch([&] {
    const board::Seen seen = wait_until(
        children, [](const auto& found) { return holds(found, Edge::Target::absent, 1); });
    ::kill(seen.communicator.ranks[0].process.number, SIGUSR1);
    said.wait_for({"not arrived: rank 1", "allreduce of 12 bytes"});
    gate.open();
  });
  const auto ended =
      test::run_processes(kRanks, {{"WEFT_STUCK_SIGNAL", "USR1"}}, [&](int rank) -> std::string {
        said.take_errors();
        Communicator comm(tcp_bootstrap());
        for (int round = 0; round < 3; ++round) sum(comm);
        if (rank == 1) gate.pass();
        sum(comm);
        return "right";
      });
  watch.join();
  for (const auto& one : ended) EXPECT_EQ(one.said, "right");
}

void own_handler(int) {}

TEST(StuckReport, LeavesASignalToTheProgramThatHandlesIt) {
  const auto ended =
      test::run_processes(2, {{"WEFT_STUCK_SIGNAL", "USR1"}}, [&](int rank) -> std::string {
        struct sigaction action {};
        if (rank == 0) ::signal(SIGUSR1, own_handler);
        {
          Communicator comm(tcp_bootstrap());
          sum(comm);
          ::sigaction(SIGUSR1, nullptr, &action);
          const auto notes = comm.statistics().notes;
          const bool is_noted = std::ranges::any_of(notes, [](const std::string& note) {
            return note.find("the program handles SIGUSR1") != note.npos;
          });
          if (is_noted != (rank == 0)) return "the wrong note";
          const bool is_own = action.sa_handler == own_handler;
          if (is_own != (rank == 0)) return "the wrong handler";
          if (rank == 1 && action.sa_handler == SIG_DFL) return "not taken";
        }
        ::sigaction(SIGUSR1, nullptr, &action);
        if (rank == 1 && action.sa_handler != SIG_DFL) return "not given back";
        return "right";
      });
  for (const auto& one : ended) EXPECT_EQ(one.said, "right");
}

}  // namespace
}  // namespace weft::stuck_test
