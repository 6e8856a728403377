// Machines with tight limits: calls are slower, or end with one clear error on every rank.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "base/error.hpp"
#include "kernels/operation.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/trouble.hpp"

namespace weft::bad_days_test {
namespace {

std::string run_some(Communicator& comm) {
  for (int round = 0; round < 3; ++round) {
    if (const std::string wrong = test::exchange(comm, round); !wrong.empty()) return wrong;
  }
  constexpr std::size_t kWords = 20'000;
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<int> in(ranks * kWords, comm.rank());
  std::vector<int> out(in.size(), -1);
  comm.alltoall<int>(in, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] != static_cast<int>(i / kWords)) return "a wrong word";
  }
  return "right";
}

std::string be_right(int /*rank*/) {
  Communicator comm(tcp_bootstrap());
  return run_some(comm);
}

/// Runs `body` in a process with mounts of its own, which `prepare` makes; what it said. Empty
/// where the kernel does not allow that.
std::string with_own_mounts(const std::function<void()>& prepare,
                            const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw_errno("pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    std::string said;
    try {
      const bool apart = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
      if (apart && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
        prepare();
        said = body();
      }
    } catch (const std::exception& error) {
      said = error.what();
    }
    [[maybe_unused]] const auto written = ::write(ends[1], said.data(), said.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 512> text{};
  for (ssize_t bytes = 0; (bytes = ::read(ends[0], text.data(), text.size())) > 0;) {
    said.append(text.data(), static_cast<std::size_t>(bytes));
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return said;
}

/// The results of all ranks, each once.
std::string said_by_all(const std::vector<test::Ended>& ended) {
  std::set<std::string> all;
  for (const auto& end : ended) all.insert(end.in_time ? end.said : "hung");
  std::string text;
  for (const std::string& one : all) text += one + "\n";
  return text;
}

void mount_on(const char* folder, const char* options) {
  if (::mount("tmpfs", folder, "tmpfs", 0, options) != 0)
    throw_errno(fmt::format("mount({})", folder));
}

TEST(BadDays, SharedMemoryOfAContainerMayBeTiny) {
  for (const char* nodes : {"1", "2"}) {
    const std::string said = with_own_mounts(
        [] { mount_on("/dev/shm", "size=64k"); },
        [nodes] {
          struct statvfs space {};
          if (::statvfs("/dev/shm", &space) != 0 || space.f_blocks * space.f_frsize > 65536) {
            return std::string("not tiny");
          }
          auto all = said_by_all(test::run_processes(4, {{"WEFT_NODES", nodes}}, &be_right));
          for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
            all += "left behind: " + entry.path().string();
          }
          return all;
        });
    if (said.empty()) GTEST_SKIP() << "mount namespaces are not allowed here";
    EXPECT_EQ(said, "right\n");
  }
}

TEST(BadDays, AQuotaOfTheCgroupMakesRanksSleep) {
  const std::string said = with_own_mounts(
      [] {
        mount_on("/sys/fs/cgroup", "size=1m");
        std::ofstream("/sys/fs/cgroup/cpu.max") << "100000 100000\n";
        std::filesystem::create_directory("/sys/fs/cgroup/cpu");
        std::ofstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") << "100000\n";
        std::ofstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") << "100000\n";
      },
      [] {
        return said_by_all(test::run_processes(2, {}, [](int) {
          Communicator comm(tcp_bootstrap());
          const std::string wrong = run_some(comm);
          return wrong == "right" ? comm.statistics().waiting : wrong;
        }));
      });
  if (said.empty()) GTEST_SKIP() << "mount namespaces are not allowed here";
  EXPECT_TRUE(said.starts_with("sleep (2 ranks on 1 ")) << said;
}

TEST(BadDays, TheModeOfWaitingIsReportedAndSettable) {
  for (const char* wait : {"spin", "sleep"}) {
    const auto ended = test::run_processes(2, {{"WEFT_WAIT", wait}}, [](int) {
      Communicator comm(tcp_bootstrap());
      return comm.statistics().waiting;
    });
    EXPECT_EQ(said_by_all(ended), std::string(wait) + " (WEFT_WAIT)\n");
  }
}

// The limit itself is low here; tests of registration let ibv_reg_mr refuse.
TEST(BadDays, LittleMemoryMayBeLocked) {
  for (const char* nodes : {"1", "2"}) {
    const auto ended = test::run_processes(4, {{"WEFT_NODES", nodes}}, [](int rank) {
      const rlimit little{64 << 10, 64 << 10};
      if (::setrlimit(RLIMIT_MEMLOCK, &little) != 0) return std::string("no limit");
      return be_right(rank);
    });
    EXPECT_EQ(said_by_all(ended), "right\n");
  }
}

TEST(BadDays, AnAdapterThatRegistersHardlyAnythingIsOneError) {
  const auto ended =
      test::run_processes(4, {{"WEFT_NODES", "2"}, {"WEFT_SOFT_MAX_REGISTERED", "64K"}}, &be_right);
  for (const auto& end : ended) {
    EXPECT_TRUE(end.in_time);
    EXPECT_EQ(end.signal, 0);
    EXPECT_TRUE(end.said == "right" || end.said.find("ibv_reg_mr") != end.said.npos) << end.said;
  }
}

// A user namespace for each rank, as some containers are started: none sees into another.
TEST(BadDays, RanksInUserNamespacesOfTheirOwnEndWithOneError) {
  const auto ended = test::run_processes(3, {}, [](int rank) {
    if (::unshare(CLONE_NEWUSER) != 0) return std::string("skip");
    return be_right(rank);
  });
  if (ended[0].said == "skip") GTEST_SKIP() << "no user namespaces here";
  for (const auto& end : ended) {
    EXPECT_TRUE(end.in_time);
    EXPECT_EQ(end.said, ended[0].said);
    EXPECT_TRUE(end.said == "right" ||
                end.said.find("another rank's shared memory") != end.said.npos)
        << end.said;
  }
}

TEST(BadDays, TheApplicationMayForkBetweenCalls) {
  const auto ended = test::run_processes(3, {}, [](int) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string said = run_some(comm); said != "right") return said;
    std::vector<int> in(static_cast<std::size_t>(comm.size()) * 30'000, comm.rank());
    std::vector<int> out(in.size());
    comm.alltoall<int>(in, out);
    std::array<int, 2> gate{};
    if (::pipe(gate.data()) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
      // The child may change its copy of all memory, and lives on while its parent goes on.
      std::fill(in.begin(), in.end(), -1);
      std::fill(out.begin(), out.end(), -1);
      ::close(gate[1]);
      char byte = 0;
      [[maybe_unused]] const auto bytes = ::read(gate[0], &byte, 1);
      ::_exit(0);
    }
    std::fill(in.begin(), in.end(), comm.rank() + 100);  // pages of its own again, at new places
    comm.alltoall<int>(in, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] != static_cast<int>(i / 30'000) + 100) return "a wrong word";
    }
    const std::string said = run_some(comm);
    ::close(gate[1]);
    ::waitpid(child, nullptr, 0);
    return said;
  });
  EXPECT_EQ(said_by_all(ended), "right\n");
}

// A buffer with other pages at each call, at the same address.
TEST(BadDays, TheApplicationMayMapOverItsBuffers) {
  const auto ended = test::run_processes(3, {}, [](int) -> std::string {
    constexpr std::size_t kBlock = 64 << 10;
    Communicator comm(tcp_bootstrap());
    const std::size_t bytes = kBlock * static_cast<std::size_t>(comm.size());
    void* place = nullptr;
    std::vector<char> out(bytes);
    for (int round = 0; round < 6; ++round) {
      const int fixed = place == nullptr ? 0 : MAP_FIXED;
      place = ::mmap(place, bytes, PROT_READ | PROT_WRITE,
                     (round % 2 == 0 ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS | fixed, -1, 0);
      if (place == MAP_FAILED) return "mmap";
      std::fill_n(static_cast<char*>(place), bytes, static_cast<char>(10 * round + comm.rank()));
      comm.alltoall(place, out.data(), kBlock);
      for (std::size_t i = 0; i < bytes; ++i) {
        if (out[i] != static_cast<char>(10 * round + static_cast<int>(i / kBlock))) return "wrong";
      }
    }
    return "right";
  });
  EXPECT_EQ(said_by_all(ended), "right\n");
}

/// A word from and to each rank that is a partner.
std::string alltoallv_with(Communicator& comm, const std::function<bool(int)>& is_partner) {
  std::vector<Part> parts;
  for (int rank = 0; rank < comm.size(); ++rank) {
    parts.push_back({parts.size() * sizeof(int), is_partner(rank) ? sizeof(int) : 0});
  }
  const std::vector<int> in(parts.size(), comm.rank());
  std::vector<int> out(parts.size(), -1);
  comm.alltoallv(in.data(), parts, out.data(), parts);
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (out[static_cast<std::size_t>(rank)] != (is_partner(rank) ? rank : -1)) return "wrong";
  }
  return "";
}

// Only the ranks at its ends know of a connection that a later alltoallv needs.
TEST(ALaterAlltoallv, ThatCannotConnectIsOneErrorOnAllRanks) {
  constexpr int kRanks = 8;  // the first call's barrier connects those at distances of 1, 2, 4
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    const auto is_near = [rank](int other) { return other / 2 == rank / 2; };
    if (auto wrong = alltoallv_with(comm, is_near); !wrong.empty()) return wrong;
    if (rank == 2) {
      const int next = ::dup(0);
      ::close(next);
      // The bootstrap needs some.
      const auto all = static_cast<rlim_t>(next) + 8;
      const rlimit few{all, all};
      if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return "no limit";
    }
    return alltoallv_with(comm, [](int) { return true; });
  };
  const auto ended =
      test::run_processes(kRanks, {{"WEFT_NODES", "8"}, {"WEFT_ALLTOALLV", "isend"}}, body);
  for (const auto& end : ended) {
    EXPECT_TRUE(end.in_time);
    EXPECT_EQ(end.said.substr(0, 8), "rank 2: ") << end.said;
    EXPECT_EQ(end.said, ended[0].said);
  }
}

// The program may leave itself as few as it likes.
TEST(ALaterCollective, InsideANodeNeedsNoDescriptor) {
  const auto body = [](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    comm.barrier();
    const int next = ::dup(0);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), static_cast<rlim_t>(next)};
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return "no limit";
    int sum = 0;
    const int mine = rank;
    comm.allreduce(&mine, &sum, 1, operation(Operator::sum, Type::int32));
    if (sum != 3) return "wrong sum";
    return alltoallv_with(comm, [](int) { return true; });
  };
  for (const auto& end : test::run_processes(3, {}, body)) {
    EXPECT_TRUE(end.in_time);
    EXPECT_EQ(end.said, "");
  }
}

}  // namespace
}  // namespace weft::bad_days_test
