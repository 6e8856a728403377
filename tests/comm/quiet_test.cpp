// A cached call inside a node allocates nothing, and makes no system call while it moves.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "comm/bootstrap/tcp_socket.hpp"
#include "hierarchy/detect.hpp"
#include "tests/comm/count_allocations.hpp"
#include "tests/comm/run_ranks.hpp"

namespace weft {
namespace {

using test::none;
using test::run_ranks;

TEST(Quiet, CachedCallsAllocateNothing) {
  constexpr int kRanks = 4;
  constexpr std::size_t kBytes = 4096;
  std::barrier gate(kRanks);
  long before = 0;
  long after = 0;
  const auto errors = run_ranks(kRanks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    std::vector<std::byte> input(kRanks * kBytes);
    std::vector<std::byte> output(kRanks * kBytes);
    const auto call_all = [&] {
      for (const std::size_t block : {8u, 512u, 4096u}) {
        comm.alltoall(input.data(), output.data(), block);
      }
    };
    call_all();
    gate.arrive_and_wait();
    if (rank == 0) before = test::allocations();
    gate.arrive_and_wait();
    for (int i = 0; i < 100; ++i) call_all();
    gate.arrive_and_wait();
    if (rank == 0) after = test::allocations();
    gate.arrive_and_wait();
  });
  ASSERT_EQ(errors, none(kRanks));
  EXPECT_EQ(after - before, 0);
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

std::atomic<long> system_calls{0};
std::atomic<long> other_than_yields{0};

/// Counts the call that the filter has stopped, and gives it ENOSYS.
void count_call(int, siginfo_t* info, void* context) {
  system_calls.fetch_add(1, std::memory_order_relaxed);
  if (info->si_syscall != SYS_sched_yield)
    other_than_yields.fetch_add(1, std::memory_order_relaxed);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
}

/// From here on every system call of this process is counted instead of made, but for those by
/// which it returns from the handler and ends.
void stop_system_calls() {
  struct sigaction action {};
  action.sa_sigaction = count_call;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSYS, &action, nullptr);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/// A rank in a process of its own. Exit code 0: its calls made no system calls.
[[noreturn]] void run_quiet_rank(int rank, const char* root) {
  ::setenv("WEFT_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("WEFT_SIZE", "2", 1);
  ::setenv("WEFT_ROOT", root, 1);
  ::setenv("WEFT_WAIT", "spin", 1);  // as with a core for each rank, however many there are here
  int code = 1;
  try {
    Communicator comm(tcp_bootstrap());
    std::vector<std::byte> input(2 * 2048);
    std::vector<std::byte> output(input.size());
    for (const std::size_t block : {8u, 2048u}) comm.alltoall(input.data(), output.data(), block);
    stop_system_calls();
    constexpr long kCalls = 5000;
    long quiet = 0;
    long loud = 0;
    for (long i = 0; i < kCalls; ++i) {
      const long before = system_calls.load();
      const long others_before = other_than_yields.load();
      const auto begin = std::chrono::steady_clock::now();
      comm.alltoall(input.data(), output.data(), i % 2 == 0 ? 8 : 2048);
      quiet += system_calls.load() == before ? 1 : 0;
      const bool brief = std::chrono::steady_clock::now() - begin < std::chrono::microseconds(900);
      loud += brief && other_than_yields.load() != others_before ? 1 : 0;
    }
    // A rank that has lost its core makes its peer wait long: then that one yields, and after a
    // millisecond looks around. How often depends on what else this machine does. Many calls of a
    // rank must go without, and brief ones may only yield.
    code = loud != 0 ? 3 : quiet > kCalls / 10 ? 0 : 2;
    ::_exit(code);  // without the destructors, which the filter would stop
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
  }
  ::_exit(code);
}

TEST(Quiet, SmallCallsInsideANodeMakeNoSystemCalls) {
  if (hierarchy::usable_cores() < 2) GTEST_SKIP() << "needs a core for each of two ranks";
  std::string root;
  const File port = comm::reserve_root(root);
  pid_t ranks[2];
  for (int rank = 0; rank < 2; ++rank) {
    ranks[rank] = ::fork();
    ASSERT_GE(ranks[rank], 0);
    if (ranks[rank] == 0) run_quiet_rank(rank, root.c_str());
  }
  for (const pid_t rank : ranks) {
    int status = 0;
    ASSERT_EQ(::waitpid(rank, &status, 0), rank);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0)
        << "2: too many system calls, 3: others than sched_yield in brief calls";
  }
}

#endif

}  // namespace
}  // namespace weft
