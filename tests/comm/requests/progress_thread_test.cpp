// The progress thread: what was started ends while its caller computes, and the thread is no burden
// where it has nothing to do.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/error.hpp"
#include "comm/setup/progress_thread.hpp"
#include "hierarchy/machine.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/run_ranks.hpp"
#include "tests/comm/support/trouble.hpp"

namespace weft::progress_thread_test {
namespace {

using test::none;
using test::run_ranks;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::uint32_t>;

constexpr std::uint32_t kNotYet = 0xffffffff;
constexpr std::chrono::seconds kPatience{60};

Options with_thread(const char* machine) {
  const auto parsed = hierarchy::Machine::parse(machine);
  Options options;
  options.node_of_rank.assign(parsed.node_of_rank().begin(), parsed.node_of_rank().end());
  options.progress_thread = true;
  return options;
}

/// A program that looks at its own memory. Another thread writes there, which no lock orders before
/// this: not for ThreadSanitizer to see.
#if defined(__SANITIZE_THREAD__)
[[gnu::no_sanitize_thread]]
#endif
[[gnu::noinline]] bool
has_come(const Words& words) {
  for (const volatile std::uint32_t& word : words) {
    if (word == kNotYet) return false;
  }
  return true;
}

std::uint32_t value(int from, int to, std::size_t at) {
  return static_cast<std::uint32_t>(from * 1'000'003 + to * 10'007) +
         static_cast<std::uint32_t>(at);
}

/// Every rank starts an alltoall and then computes: `compute(rank, output)`, in no call of weft's.
template <class Compute>
void start_and_compute(const char* machine, std::size_t words, Compute compute) {
  const int ranks = hierarchy::Machine::parse(machine).ranks();
  const auto errors = run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), with_thread(machine));
    Words input(words * static_cast<std::size_t>(ranks));
    Words output(input.size());
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = value(rank, static_cast<int>(i / words), i % words);
    }
    Request request = comm.alltoall_init(input.data(), output.data(), words * 4);
    for (int round = 0; round < 3; ++round) {
      std::ranges::fill(output, kNotYet);
      comm.barrier();
      request.start();
      compute(rank, output);
      request.wait();
      for (std::size_t i = 0; i < output.size(); ++i) {
        ASSERT_EQ(output[i], value(static_cast<int>(i / words), rank, i % words));
      }
    }
  });
  ASSERT_EQ(errors, none(ranks));
}

struct Case {
  const char* machine;
  std::size_t words;  // of a block
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.machine << ", " << one.words << " words";
}

class WhileTheCallerComputes : public testing::TestWithParam<Case> {};

TEST_P(WhileTheCallerComputes, DataArrive) {
  const auto [machine, words] = GetParam();
  std::atomic<int> late{0};
  start_and_compute(machine, words, [&](int, const Words& output) {
    const auto deadline = Clock::now() + kPatience;
    while (!has_come(output) && Clock::now() < deadline) std::this_thread::yield();
    if (!has_come(output)) ++late;
  });
  EXPECT_EQ(late, 0);
}

INSTANTIATE_TEST_SUITE_P(Machines, WhileTheCallerComputes,
                         testing::Values(Case{"2x1", 100'000}, Case{"2x2", 30}, Case{"2x2", 50'000},
                                         Case{"1+3", 300}, Case{"0,1,1,0", 20'000}));

/// The number of times that this process's threads of this name have gone to sleep; -1: no thread.
long sleeps_of(const std::string& name) {
  long sleeps = -1;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string line;
    std::getline(std::ifstream(task.path() / "comm"), line);
    if (line != name) continue;
    std::ifstream status(task.path() / "status");
    constexpr std::string_view kKey = "voluntary_ctxt_switches:";
    while (std::getline(status, line)) {
      if (line.starts_with(kKey)) {
        sleeps = std::max(sleeps, 0L) + std::stol(line.substr(kKey.size()));
      }
    }
  }
  return sleeps;
}

const std::string kName = "weft-requests";

TEST(ProgressThread, SleepsWhereNothingIsStarted) {
  const auto errors = run_ranks(1, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), with_thread("1x1"));
    std::uint32_t word = 1;
    std::uint32_t result = 0;
    EXPECT_EQ(sleeps_of(kName), -1);  // not there before it is needed
    Request request = comm.alltoall_init(&word, &result, sizeof word);
    request.start();
    request.wait();
    // The thread has its name once it runs.
    const auto deadline = Clock::now() + kPatience;
    while (sleeps_of(kName) == -1 && Clock::now() < deadline) std::this_thread::yield();
    ASSERT_GE(sleeps_of(kName), 0);
    const auto begin = Clock::now();
    const long before = sleeps_of(kName);
    for (int i = 0; i < 20'000; ++i) comm.alltoall(&word, &result, sizeof word);
    const long after = sleeps_of(kName);
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count();
    // Once after its last turn, and it looks again every second.
    EXPECT_LE(after - before, 2 + seconds);
  });
  EXPECT_EQ(errors, none(1));
  // A joined thread may stay visible in /proc for a moment.
  const auto deadline = Clock::now() + kPatience;
  while (sleeps_of(kName) != -1 && Clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(sleeps_of(kName), -1);
}

/// An operation that knows the thread that it is made in.
class Sum {
 public:
  explicit Sum(bool only_in_calls) : only_in_calls_(only_in_calls) {}
  Operation operation() const {
    return {.element_bytes = sizeof(std::uint32_t),
            .combine = &combine,
            .context = this,
            .only_in_calls = only_in_calls_};
  }
  bool was_called_elsewhere() const { return was_called_elsewhere_; }

 private:
  static void combine(const void* self, std::byte* dst, const std::byte* left,
                      const std::byte* right, std::size_t elements) {
    const auto& sum = *static_cast<const Sum*>(self);
    if (std::this_thread::get_id() != sum.owner_) sum.was_called_elsewhere_ = true;
    for (std::size_t at = 0; at < elements * sizeof(std::uint32_t); at += sizeof(std::uint32_t)) {
      std::uint32_t a = 0, b = 0;
      std::memcpy(&a, left + at, sizeof a);
      std::memcpy(&b, right + at, sizeof b);
      a += b;
      std::memcpy(dst + at, &a, sizeof a);
    }
  }

  const bool only_in_calls_;
  const std::thread::id owner_ = std::this_thread::get_id();
  mutable std::atomic<bool> was_called_elsewhere_{false};
};

/// Whether the operation of an allreduce was called elsewhere while its caller computed.
bool is_called_while_computing(bool only_in_calls) {
  constexpr int kRanks = 2;
  constexpr long kTurns = 100;
  std::atomic<int> called_elsewhere{0};
  std::barrier all(kRanks);
  const auto errors = run_ranks(kRanks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap), with_thread("2x1"));
    const Sum sum(only_in_calls);
    const Operation operation = sum.operation();
    const Words input(1000, static_cast<std::uint32_t>(rank + 1));
    Words output(input.size(), kNotYet);
    Request request = comm.allreduce_init(input.data(), output.data(), input.size(), operation);
    // Each once before the other, so that it lacks something at its start.
    for (int first = 0; first < kRanks; ++first) {
      std::ranges::fill(output, kNotYet);
      if (rank != first) all.arrive_and_wait();
      request.start();
      if (rank == first) all.arrive_and_wait();
      all.arrive_and_wait();
      // Without a result: until threads have had their turns, with all that they need there. One
      // whose allreduce is over sleeps.
      const long before = sleeps_of(kName);
      const auto deadline = Clock::now() + kPatience;
      while (!has_come(output) && Clock::now() < deadline) {
        if (only_in_calls && sleeps_of(kName) >= before + kTurns) break;
        std::this_thread::yield();
      }
      all.arrive_and_wait();
      request.wait();
      EXPECT_EQ(output, Words(input.size(), 3));
    }
    called_elsewhere += sum.was_called_elsewhere() ? 1 : 0;
  });
  EXPECT_EQ(errors, none(kRanks));
  return called_elsewhere != 0;
}

TEST(ProgressThread, CallsOperationsUnlessTheyAreOnlyForCalls) {
  EXPECT_TRUE(is_called_while_computing(false));
  EXPECT_FALSE(is_called_while_computing(true));
}

/// The child has no such thread: it waits neither for it nor for locks that it held.
TEST(ProgressThread, IsNotInAChildOfFork) {
  const int place = 0;
  engine::Links links({&place, 1}, nullptr, {});
  engine::Executor executor(0, nullptr, false, links, {}, 0);
  engine::Turn turn;
  auto thread = std::make_unique<comm::ProgressThread>(executor, turn, true);
  turn.lock();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    turn.lock();
    turn.unlock();
    thread.reset();
    ::_exit(0);
  }
  turn.unlock();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

/// One rank's connection breaks for good while all of them compute.
TEST(ProgressThread, AFailureIsTheSameErrorAtEveryWait) {
  constexpr int kRanks = 4;
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = test::exchange(comm, 0); !wrong.empty()) return wrong;
    if (auto other = test::other_than("isend", "alltoall", comm); !other.empty()) return other;
    Words input(kRanks * 20'000);
    Words output(input.size());
    Request request = comm.alltoall_init(input.data(), output.data(), 80'000);
    // Every message: the first may be a datagram, the answer to a peer that has waited for long.
    if (rank == 0) test::inject("error:every=1,status=remote-access");
    for (;;) {
      std::ranges::fill(output, kNotYet);
      request.start();
      const auto deadline = Clock::now() + std::chrono::seconds(1);
      while (!has_come(output) && Clock::now() < deadline) std::this_thread::yield();
      request.wait();
    }
  };
  const auto ended = test::run_processes(
      kRanks, {{"WEFT_NODES", "2"}, {"WEFT_PROGRESS_THREAD", "1"}, {"WEFT_ALLTOALL", "isend"}},
      body);
  for (const auto& end : ended) {
    EXPECT_TRUE(end.in_time);
    EXPECT_NE(end.said.find("remote access error"), std::string::npos) << end.said;
  }
}

}  // namespace
}  // namespace weft::progress_thread_test
