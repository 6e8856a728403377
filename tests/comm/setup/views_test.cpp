// Views of neighbours' buffers that the kernel refuses in the middle of a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/engine/refuse_process_vm.hpp"

namespace weft::views_test {
namespace {

constexpr int kRanks = 3;
constexpr std::size_t kWords = 30'000;  // of a block: far above what is staged

std::string exchange(Communicator& comm, int round) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<int> in(ranks * kWords), out(in.size());
  std::iota(in.begin(), in.end(), comm.rank() * 1000 + round);
  comm.alltoall<int>(in, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(comm.rank()) * kWords + i % kWords;
    const int expected = static_cast<int>(i / kWords) * 1000 + round + static_cast<int>(at);
    if (out[i] != expected) return "alltoall: a wrong word";
  }
  std::vector<int> sum(kWords), all(ranks * kWords);
  comm.allreduce(in.data(), sum.data(), kWords, operation(Operator::sum, Type::int32));
  const int ones = static_cast<int>(ranks);
  for (std::size_t i = 0; i < kWords; ++i) {
    const int expected = ones * (ones - 1) / 2 * 1000 + ones * (round + static_cast<int>(i));
    if (sum[i] != expected) return "allreduce: a wrong word";
  }
  // To the root, whose buffer the others write.
  comm.gather(sum.data(), all.data(), kWords * sizeof(int), 1);
  for (std::size_t i = 0; comm.rank() == 1 && i < all.size(); ++i) {
    if (all[i] != sum[i % kWords]) return "gather: a wrong word";
  }
  return "";
}

bool has_note(const Statistics& statistics) {
  return std::ranges::any_of(statistics.notes, [](const std::string& note) {
    return note.find("their owners copied them") != note.npos;
  });
}

struct Case {
  const char* name;
  const char* wait;
  const char* alltoall;
};

class RefusedInMidRun : public testing::TestWithParam<Case> {};

TEST_P(RefusedInMidRun, GoesOnWithCopiesByTheOwner) {
  const auto [name, wait, alltoall] = GetParam();
  const auto body = [asked = alltoall](int rank) -> std::string {
    Communicator comm(tcp_bootstrap());
    if (comm.statistics().view != "cma") return "right (no cma here)";
    if (const std::string wrong = exchange(comm, 1); !wrong.empty()) return wrong;
    if (auto other = test::other_than(asked, "alltoall", comm); !other.empty()) return other;
    if (has_note(comm.statistics())) return "refused from the beginning";
    // Two of three ranks, so that ranks that are refused meet a rank that is not.
    if (rank != 1 && !test::refuse_process_vm()) return "no filter";
    for (int round = 2; round < 5; ++round) {
      if (const std::string wrong = exchange(comm, round); !wrong.empty()) return wrong;
    }
    return has_note(comm.statistics()) == (rank != 1) ? "right" : "a note is wrong";
  };
  for (const auto& end : test::run_processes(
           kRanks, {{"WEFT_VIEW", "cma"}, {"WEFT_WAIT", wait}, {"WEFT_ALLTOALL", alltoall}},
           body)) {
    EXPECT_EQ(end.said.find("right"), 0u) << end.said;
  }
}

// By reading peers' buffers, and by messages that are put into place.
INSTANTIATE_TEST_SUITE_P(Views, RefusedInMidRun,
                         testing::Values(Case{"spin", "spin", "sa:direct=1"},
                                         Case{"sleep", "sleep", "sa:direct=1"},
                                         Case{"messages_spin", "spin", "isend"},
                                         Case{"messages_sleep", "sleep", "isend"}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace weft::views_test
