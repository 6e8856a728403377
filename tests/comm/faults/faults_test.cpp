// Ranks that end, stop, or may do less than others: the rest get the right answer or an error that
// names the rank, and nothing stays behind.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <numeric>

#include "base/file.hpp"
#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"

namespace weft::faults_test {
namespace {

/// Alltoalls of several sizes, checked; "" or what was wrong.
std::string exchange(Communicator& comm) {
  const std::size_t ranks = static_cast<std::size_t>(comm.size());
  for (const std::size_t count : {1u, 100u, 5000u, 40000u}) {
    std::vector<int> input(ranks * count);
    std::vector<int> output(ranks * count, -1);
    std::iota(input.begin(), input.end(), comm.rank() * 1'000'000);
    comm.alltoall<int>(input, output);
    for (std::size_t from = 0; from < ranks; ++from) {
      const int first = static_cast<int>(from) * 1'000'000 + comm.rank() * static_cast<int>(count);
      if (output[from * count] != first ||
          output[from * count + count - 1] != first + static_cast<int>(count) - 1) {
        return "wrong answer of " + std::to_string(count);
      }
    }
  }
  return "";
}

std::vector<std::string> shared_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename();
    if (name.find("weft") != std::string::npos) names.push_back(name);
  }
  return names;
}

struct Case {
  int ranks;
  const char* nodes;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.ranks << " on " << one.nodes;
}

class Faults : public testing::TestWithParam<Case> {};

TEST_P(Faults, ARankThatIsKilledEndsTheOthersWithItsName) {
  const auto [ranks, nodes] = GetParam();
  const int victim = ranks - 1;
  const auto names = shared_names();
  const auto body = [&](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    for (int round = 0;; ++round) {
      if (rank == victim && round == 20) ::raise(SIGKILL);
      if (const std::string wrong = exchange(comm); !wrong.empty()) return wrong;
    }
  };
  const auto ended = test::run_processes(ranks, {{"WEFT_NODES", nodes}}, body);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& end = ended[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(end.in_time) << "rank " << rank << " hung";
    if (rank == victim) {
      EXPECT_EQ(end.signal, SIGKILL);
    } else {
      EXPECT_EQ(end.signal, 0);
      EXPECT_NE(end.said.find("rank " + std::to_string(victim)), std::string::npos)
          << "rank " << rank << " said: " << end.said;
    }
  }
  EXPECT_EQ(shared_names(), names);
}

TEST_P(Faults, AMissingRankIsNamedAfterTheTimeout) {
  const auto [ranks, nodes] = GetParam();
  std::array<int, 2> gave_up{};  // a pipe: one byte from each that did
  ASSERT_EQ(::pipe(gave_up.data()), 0);
  const File reads(gave_up[0]);
  const File writes(gave_up[1]);
  const auto body = [&](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (const std::string wrong = exchange(comm); !wrong.empty()) return wrong;
    char byte = 0;
    if (rank == 0) {
      // It is in no call, so it sees nothing of the others' end.
      for (int other = 1; other < ranks; ++other) {
        if (::read(reads.get(), &byte, 1) != 1) return "no byte";
      }
      return "late";
    }
    std::string said = "came through";
    try {
      exchange(comm);
    } catch (const std::exception& error) {
      said = error.what();
    }
    if (::write(writes.get(), &byte, 1) != 1) return "no byte";
    return said;
  };
  const auto ended =
      test::run_processes(ranks, {{"WEFT_NODES", nodes}, {"WEFT_TIMEOUT", "1"}}, body);
  EXPECT_EQ(ended[0].said, "late");
  for (int rank = 1; rank < ranks; ++rank) {
    const std::string& said = ended[static_cast<std::size_t>(rank)].said;
    EXPECT_NE(said.find("WEFT_TIMEOUT"), std::string::npos) << "rank " << rank << ": " << said;
    EXPECT_NE(said.find("rank 0"), std::string::npos) << "rank " << rank << ": " << said;
  }
}

INSTANTIATE_TEST_SUITE_P(Placements, Faults,
                         testing::Values(Case{3, "1"}, Case{4, "2"}, Case{5, "1+3+1"},
                                         Case{3, "3"}));

/// From here on this process may not reach into others.
void forbid_cma() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST(Permission, RefusedToReadPeersStagesEverythingWithANote) {
  // Large messages between ranks of a node, too: in pieces then, as nothing can be put into place.
  for (const auto& [nodes, alltoall] : {std::pair{"1", "sa"}, {"1", "isend"}, {"2", "sa"}}) {
    const auto body = [name = alltoall](int rank) -> std::string {
      // One rank without the permission is enough.
      if (rank == 1) forbid_cma();
      Communicator comm(tcp_bootstrap());
      if (const std::string wrong = exchange(comm); !wrong.empty()) return wrong;
      if (auto other = test::other_than(name, "alltoall", comm); !other.empty()) return other;
      const Statistics statistics = comm.statistics();
      std::string said = statistics.view;
      for (const std::string& note : statistics.notes) said += "; " + note;
      return said;
    };
    const auto ended = test::run_processes(
        4, {{"WEFT_VIEW", "cma"}, {"WEFT_NODES", nodes}, {"WEFT_ALLTOALL", alltoall}}, body);
    EXPECT_EQ(ended[1].said.find("staged"), 0u) << ended[1].said;
    EXPECT_NE(ended[1].said.find("process_vm_readv"), std::string::npos) << ended[1].said;
  }
}

TEST(Registration, ThatIsRefusedIsReplacedByCopiesAndANote) {
  const auto body = [](int) -> std::string {
    Communicator comm(tcp_bootstrap());
    for (int round = 0; round < 3; ++round) {
      if (const std::string wrong = exchange(comm); !wrong.empty()) return wrong;
    }
    if (auto other = test::other_than("isend", "alltoall", comm); !other.empty()) return other;
    std::string said;
    for (const std::string& note : comm.statistics().notes) said += note + "; ";
    return said;
  };
  const auto ended = test::run_processes(
      4, {{"WEFT_NODES", "2"}, {"WEFT_ALLTOALL", "isend"}, {"WEFT_SOFT_MAX_MR_SIZE", "600K"}},
      body);
  for (const auto& end : ended) {
    EXPECT_NE(end.said.find("what could not be registered was copied"), std::string::npos)
        << end.said;
  }
}

}  // namespace
}  // namespace weft::faults_test
