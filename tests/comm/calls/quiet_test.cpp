// Cached calls allocate nothing, and inside a node make no system call while both ranks run.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <vector>

#include "comm/bootstrap/tcp_address.hpp"
#include "hierarchy/detect.hpp"
#include "hierarchy/machine.hpp"
#include "tests/comm/support/count_allocations.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::quiet_test {
namespace {

using test::none;
using test::run_ranks;

/// Every collective once, with blocks or vectors of `bytes`.
void call_all(Communicator& comm, std::size_t bytes, std::vector<std::byte>& input,
              std::vector<std::byte>& output) {
  static const Operation sum = operation(Operator::sum, Type::uint64);
  const std::size_t elements = bytes / sum.element_bytes;
  const int root = comm.size() - 1;
  comm.alltoall(input.data(), output.data(), bytes);
  comm.allgather(input.data(), output.data(), bytes);
  comm.scatter(input.data(), output.data(), bytes, root);
  comm.gather(input.data(), output.data(), bytes, root);
  comm.broadcast(output.data(), bytes, root);
  comm.barrier();
  comm.reduce(input.data(), output.data(), elements, sum, root);
  comm.allreduce(input.data(), output.data(), elements, sum);
  comm.reduce_scatter(input.data(), output.data(), elements, sum);
  comm.scan(input.data(), output.data(), elements, sum);
  comm.exscan(input.data(), output.data(), elements, sum);
}

/// Allocations of all ranks, threads of this process, in calls of one collective after the first
/// ones. The device is part of the process: it must not allocate, either.
class CachedCalls : public testing::TestWithParam<const char*> {};

TEST_P(CachedCalls, AllocateNothing) {
  const auto machine = hierarchy::Machine::parse(GetParam());
  const int ranks = machine.ranks();
  constexpr std::size_t kMostBytes = 4096;
  std::barrier gate(ranks);
  long before = 0;
  long after = 0;
  const auto errors = run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Options options;
    options.node_of_rank.assign(machine.node_of_rank().begin(), machine.node_of_rank().end());
    Communicator comm(std::move(bootstrap), options);
    std::vector<std::byte> input(static_cast<std::size_t>(ranks) * kMostBytes);
    std::vector<std::byte> output(input.size());
    std::vector<Part> parts;
    for (std::size_t to = 0; to < static_cast<std::size_t>(ranks); ++to) {
      parts.push_back({to * kMostBytes, 8 * (to + 1)});
    }
    std::vector<Part> receives;
    for (std::size_t from = 0; from < parts.size(); ++from) {
      receives.push_back({from * 64, parts[static_cast<std::size_t>(rank)].bytes});
    }
    const auto round = [&] {
      for (const std::size_t bytes : {8u, 512u, 4096u}) call_all(comm, bytes, input, output);
      comm.alltoallv(input.data(), parts, output.data(), receives);
    };
    // A message may go at once in one round and wait in another: warm both paths up first. And the
    // barriers, which the reductions follow, are others after 64 of them.
    for (int i = 0; i < 30; ++i) round();
    gate.arrive_and_wait();
    if (rank == 0) before = test::allocations();
    gate.arrive_and_wait();
    for (int i = 0; i < 50; ++i) round();
    gate.arrive_and_wait();
    if (rank == 0) after = test::allocations();
    gate.arrive_and_wait();
  });
  ASSERT_EQ(errors, none(ranks));
  EXPECT_EQ(after - before, 0);
}

INSTANTIATE_TEST_SUITE_P(Machines, CachedCalls, testing::Values("1x4", "2x2", "1+2", "3x1"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::ranges::replace(name, '+', '_');
                           return "On" + name;
                         });

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

std::atomic<long> system_calls{0};

/// Counts the call that the filter has stopped, and gives it ENOSYS.
void count_call(int, siginfo_t*, void* context) {
  system_calls.fetch_add(1, std::memory_order_relaxed);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
}

/// From here on every system call of this process is counted instead of made, but for those by
/// which it returns from the handler, ends, writes errors and asks how often it was switched.
void stop_system_calls() {
  struct sigaction action {};
  action.sa_sigaction = count_call;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSYS, &action, nullptr);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

constexpr int kCalls = 5000;
// Longer than any of these calls takes while both ranks run, shorter than a rank spins before it
// yields.
constexpr std::chrono::microseconds kLong(50);

/// One call of one rank, in memory that both ranks and the test see.
struct CallRecord {
  bool is_loud = false;       // it made system calls
  bool was_switched = false;  // another thread had this rank's core in it, or just before
  bool is_long = false;       // with no switch: the host of this machine had the core
};
struct Records {
  std::array<std::array<CallRecord, kCalls>, 2> of_rank;
};

long switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

/// Moves this process to the `number`-th of the cores that it may use.
void take_core(int number) {
  cpu_set_t all;
  ::sched_getaffinity(0, sizeof all, &all);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all) || number-- != 0) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    ::sched_setaffinity(0, sizeof own, &own);
  }
}

/// A rank in a process of its own, on a core of its own as far as other jobs let it.
[[noreturn]] void run_quiet_rank(int rank, const char* root, Records& records) {
  take_core(rank);
  ::setenv("WEFT_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("WEFT_SIZE", "2", 1);
  ::setenv("WEFT_ROOT", root, 1);
  ::setenv("WEFT_WAIT", "spin", 1);
  try {
    Communicator comm(tcp_bootstrap());
    std::vector<std::byte> input(2 * 2048);
    std::vector<std::byte> output(input.size());
    for (const std::size_t block : {8u, 2048u}) comm.alltoall(input.data(), output.data(), block);
    stop_system_calls();
    long switches_before = switches();
    for (int i = 0; i < kCalls; ++i) {
      CallRecord& record =
          records.of_rank[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)];
      const long before = system_calls.load();
      const auto begin = std::chrono::steady_clock::now();
      comm.alltoall(input.data(), output.data(), i % 2 == 0 ? 8 : 2048);
      record.is_long = std::chrono::steady_clock::now() - begin > kLong;
      record.is_loud = system_calls.load() != before;
      const long switches_now = switches();
      record.was_switched = switches_now != switches_before;
      switches_before = switches_now;
    }
    ::_exit(0);  // without the destructors, which the filter would stop
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
  }
  ::_exit(1);
}

/// True if some rank lost its core about call `i`: then its peer may wait long enough to yield, in
/// the same call or the next.
bool is_disturbed(const Records& records, int i) {
  for (const auto& calls : records.of_rank) {
    for (int near = std::max(0, i - 1); near <= std::min(kCalls - 1, i + 1); ++near) {
      const CallRecord& record = calls[static_cast<std::size_t>(near)];
      if (record.was_switched || record.is_long) return true;
    }
  }
  return false;
}

// Every call in which both ranks had their cores. A rank that has lost its core makes its peer wait
// long, and that one yields: such calls are counted apart, and must be few.
TEST(Quiet, SmallCallsInsideANodeMakeNoSystemCalls) {
  if (hierarchy::usable_cores() < 2) GTEST_SKIP() << "needs a core for each of two ranks";
  std::string root;
  const File port = comm::reserve_root(root);
  void* memory =
      ::mmap(nullptr, sizeof(Records), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Records& records = *new (memory) Records;
  pid_t ranks[2];
  for (int rank = 0; rank < 2; ++rank) {
    ranks[rank] = ::fork();
    ASSERT_GE(ranks[rank], 0);
    if (ranks[rank] == 0) run_quiet_rank(rank, root.c_str(), records);
  }
  for (const pid_t rank : ranks) {
    int status = 0;
    ASSERT_EQ(::waitpid(rank, &status, 0), rank);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  int disturbed = 0;
  int loud = 0;
  for (int i = 0; i < kCalls; ++i) {
    if (is_disturbed(records, i)) {
      ++disturbed;
      continue;
    }
    for (const auto& calls : records.of_rank) loud += calls[static_cast<std::size_t>(i)].is_loud;
  }
  ::munmap(memory, sizeof(Records));
  EXPECT_EQ(loud, 0) << "of " << kCalls - disturbed << " calls in which both ranks had their cores";
  EXPECT_LT(disturbed, kCalls / 10);
}

#endif

}  // namespace
}  // namespace weft::quiet_test
