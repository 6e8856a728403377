// A rank whose failure is its own, before it takes part in a call: those that wait for it, in the
// call or in an agreement before it, end in the same error.
#include <gtest/gtest.h>

#include <vector>

#include "tests/comm/support/own_failure_cases.hpp"
#include "tests/comm/support/processes.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::own_failure_test {
namespace {

using namespace test::own_failure;  // NOLINT(google-build-using-namespace)

TEST(OwnFailure, IsTheSameErrorOfAllThreads) {
  for (const auto& nodes : std::vector<std::vector<int>>{{0, 0, 0, 0}, {0, 0, 1, 1}}) {
    Options options;
    options.node_of_rank = nodes;
    for (const Case& one : kCases) {
      std::vector<std::string> said(kRanks);
      test::run_ranks(kRanks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
        Communicator comm(std::move(bootstrap), options);
        said[static_cast<std::size_t>(rank)] = error_of(comm, one);
      });
      EXPECT_EQ(said, std::vector<std::string>(kRanks, kError))
          << "case " << &one - kCases << ", last node " << nodes.back();
    }
  }
}

TEST(OwnFailure, IsTheSameErrorOfAllProcesses) {
  for (const char* nodes : {"1", "2"}) {
    for (const Case& one : kCases) {
      const auto ended = test::run_processes(kRanks, {{"WEFT_NODES", nodes}}, [&](int) {
        Communicator comm(tcp_bootstrap());
        return error_of(comm, one);
      });
      for (const auto& rank : ended) {
        EXPECT_TRUE(rank.in_time);
        EXPECT_EQ(rank.said, kError) << "case " << &one - kCases << ", nodes " << nodes;
      }
    }
  }
}

}  // namespace
}  // namespace weft::own_failure_test
