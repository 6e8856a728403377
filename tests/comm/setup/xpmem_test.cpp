// Ranks as processes that reach one another's buffers by xpmem: over a stand-in for the device, as
// the kernel's module is not at hand.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <numeric>
#include <span>

#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/engine/fake_xpmem.hpp"

namespace weft::xpmem_test {
namespace {

using test::FakeXpmem;
using test::XpmemBuffer;

constexpr int kRanks = 3;
constexpr std::size_t kWords = 30'000;  // of a block: far above what is staged

/// Memory that a rank exchanges: the stand-in can map it, or not.
struct Words {
  explicit Words(std::span<int> all)
      : in(all.subspan(0, kRanks * kWords)),
        out(all.subspan(kRanks * kWords, kRanks * kWords)),
        sum(all.subspan(2 * kRanks * kWords, kWords)) {}
  static constexpr std::size_t kAll = (2 * kRanks + 1) * kWords;
  std::span<int> in, out, sum;
};

std::string exchange(Communicator& comm, const Words& words, int round) {
  std::iota(words.in.begin(), words.in.end(), comm.rank() * 1000 + round);
  comm.alltoall<int>(words.in, words.out);
  for (std::size_t i = 0; i < words.out.size(); ++i) {
    const auto at = static_cast<std::size_t>(comm.rank()) * kWords + i % kWords;
    const auto from = static_cast<int>(i / kWords);
    if (words.out[i] != from * 1000 + round + static_cast<int>(at)) return "alltoall: wrong";
  }
  comm.allreduce(words.in.data(), words.sum.data(), kWords, operation(Operator::sum, Type::int32));
  for (std::size_t i = 0; i < kWords; ++i) {
    const int expected = kRanks * (kRanks - 1) / 2 * 1000 + kRanks * (round + static_cast<int>(i));
    if (words.sum[i] != expected) return "allreduce: wrong";
  }
  // To the root, whose buffer the others write.
  comm.gather(words.sum.data(), words.out.data(), kWords * sizeof(int), 1);
  for (std::size_t i = 0; comm.rank() == 1 && i < words.out.size(); ++i) {
    if (words.out[i] != words.sum[i % kWords]) return "gather: wrong";
  }
  return "";
}

bool has_note(const Statistics& statistics, std::string_view text) {
  return std::ranges::any_of(
      statistics.notes, [text](const std::string& note) { return note.find(text) != note.npos; });
}

struct Case {
  const char* name;
  const char* view;
  const char* alltoall;
};

class ByXpmem : public testing::TestWithParam<Case> {};

TEST_P(ByXpmem, MovesEveryByteInPlace) {
  const FakeXpmem device;
  const auto [name, view, alltoall] = GetParam();
  const auto body = [asked = alltoall](int) -> std::string {
    const XpmemBuffer buffer(Words::kAll * sizeof(int));
    const Words words({reinterpret_cast<int*>(buffer.data()), Words::kAll});
    {
      Communicator comm(tcp_bootstrap());
      if (comm.statistics().view != "xpmem") return "view: " + comm.statistics().view;
      int attaches = 0;
      for (int round = 0; round < 6; ++round) {
        if (const std::string wrong = exchange(comm, words, round); !wrong.empty()) return wrong;
        if (round == 1) attaches = FakeXpmem::attaches();
      }
      if (FakeXpmem::attaches() != attaches) return "buffers are attached again and again";
      const Statistics statistics = comm.statistics();
      if (statistics.cma_bytes != 0) return "cma was used";
      if (statistics.xpmem_bytes == 0) return "xpmem was not used";
      if (!statistics.notes.empty()) return statistics.notes.front();
      if (auto other = test::other_than(asked, "alltoall", comm); !other.empty()) return other;
      comm.barrier();
    }
    if (FakeXpmem::attached() != 0) return "something is left attached";
    return FakeXpmem::broken_rule().empty() ? "right" : FakeXpmem::broken_rule();
  };
  for (const auto& end :
       test::run_processes(kRanks, {{"WEFT_VIEW", view}, {"WEFT_ALLTOALL", alltoall}}, body)) {
    EXPECT_EQ(end.said, "right");
  }
}

// By reading and writing peers' buffers, and by messages that are put into place.
INSTANTIATE_TEST_SUITE_P(Xpmem, ByXpmem,
                         testing::Values(Case{"chosen", "auto", "sa:direct=1"},
                                         Case{"forced", "xpmem", "sa:direct=1"},
                                         Case{"messages", "xpmem", "isend"}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Xpmem, LeavesPagesThatItCannotMapToTheNextView) {
  const FakeXpmem device;
  const auto body = [](int rank) -> std::string {
    // Two have memory that the stand-in cannot map, as the module cannot map some devices'.
    const XpmemBuffer buffer(Words::kAll * sizeof(int));
    std::vector<int> elsewhere(Words::kAll);
    const Words words(rank == 1 ? std::span(reinterpret_cast<int*>(buffer.data()), Words::kAll)
                                : std::span(elsewhere));
    Communicator comm(tcp_bootstrap());
    for (int round = 0; round < 4; ++round) {
      if (const std::string wrong = exchange(comm, words, round); !wrong.empty()) return wrong;
    }
    const Statistics statistics = comm.statistics();
    comm.barrier();
    if (statistics.cma_bytes == 0 && !has_note(statistics, "their owners")) return "all by xpmem?";
    return "right";
  };
  for (const auto& end : test::run_processes(kRanks, {{"WEFT_VIEW", "xpmem"}}, body)) {
    EXPECT_EQ(end.said, "right") << end.signal;
  }
}

TEST(Xpmem, GoesToTheNextViewWithoutTheDevice) {
  const FakeXpmem device;
  FakeXpmem::refuse(ENOENT);
  const auto body = [](int) -> std::string {
    std::vector<int> memory(Words::kAll);
    Communicator comm(tcp_bootstrap());
    const Statistics statistics = comm.statistics();
    if (statistics.view == "xpmem") return "a view without a device";
    if (!has_note(statistics, "WEFT_VIEW=xpmem: no /dev/xpmem")) return "no note";
    const std::string wrong = exchange(comm, Words(memory), 1);
    return wrong.empty() ? "right" : wrong;
  };
  for (const auto& end : test::run_processes(kRanks, {{"WEFT_VIEW", "xpmem"}}, body)) {
    EXPECT_EQ(end.said, "right");
  }
  FakeXpmem::refuse(0);
}

TEST(Xpmem, EndsWithOneErrorWhenAPeerIsKilled) {
  const FakeXpmem device;
  const auto body = [](int rank) -> std::string {
    XpmemBuffer buffer(Words::kAll * sizeof(int));
    const Words words({reinterpret_cast<int*>(buffer.data()), Words::kAll});
    Communicator comm(tcp_bootstrap());
    if (comm.statistics().view != "xpmem") return "view: " + comm.statistics().view;
    for (int round = 0;; ++round) {
      // Its pages go with it: a rank that reads them meanwhile must not die of that.
      if (rank == 2 && round == 3) {
        buffer.lose_pages();
        ::raise(SIGKILL);
      }
      if (const std::string wrong = exchange(comm, words, round); !wrong.empty()) return wrong;
    }
  };
  const auto ended = test::run_processes(kRanks, {{"WEFT_VIEW", "xpmem"}}, body);
  EXPECT_EQ(ended[2].signal, SIGKILL);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(ended[static_cast<std::size_t>(rank)].in_time);
    EXPECT_EQ(ended[static_cast<std::size_t>(rank)].signal, 0);
    EXPECT_NE(ended[static_cast<std::size_t>(rank)].said.find("has ended"), std::string::npos)
        << ended[static_cast<std::size_t>(rank)].said;
  }
}

}  // namespace
}  // namespace weft::xpmem_test
