// A rank whose failure is its own, before it takes part in a call: those that wait for it, in the
// call or in an agreement before it, end in the same error.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tests/comm/processes.hpp"
#include "tests/comm/run_ranks.hpp"

namespace weft {
namespace {

constexpr int kRanks = 4;
constexpr const char* kError = "rank 2: no memory";

/// Of some collective, with blocks of so many bytes.
using Call = void (*)(Communicator& comm, std::size_t bytes);

void alltoall(Communicator& comm, std::size_t bytes) {
  std::vector<std::byte> input(kRanks * bytes), output(input.size());
  comm.alltoall(input.data(), output.data(), bytes);
}
std::vector<Part> parts_of(std::size_t bytes) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < kRanks; ++i) parts.push_back({i * bytes, bytes});
  return parts;
}
void alltoallv(Communicator& comm, std::size_t bytes) {
  std::vector<std::byte> input(kRanks * bytes), output(input.size());
  comm.alltoallv(input.data(), parts_of(bytes), output.data(), parts_of(bytes));
}
/// All wait for the root.
void scatter(Communicator& comm, std::size_t bytes) {
  std::vector<std::byte> input(kRanks * bytes), output(bytes);
  comm.scatter(input.data(), parts_of(bytes), output.data(), bytes, 2);
}
/// With packing, which fails on rank 2.
void alltoallw(Communicator& comm, std::size_t bytes) {
  const std::vector<std::size_t> all(kRanks, bytes);
  const bool fails = comm.rank() == 2;
  comm.alltoallw(all, all,
                 {[&](int, std::size_t from, std::size_t to, std::byte* packed) {
                    if (fails) throw std::runtime_error("no memory");
                    std::fill_n(packed, to - from, std::byte{1});
                  },
                  [](int, std::size_t, std::size_t, const std::byte*) {}});
}

/// `calls` of them go well first.
void run(Communicator& comm, Call call, int calls) {
  for (int i = 0; i < calls; ++i) call(comm, 64);
  if (comm.rank() == 2 && call != alltoallw) comm.fail("no memory");
  call(comm, 4096);
}

struct Case {
  Call call;
  int calls;
};
constexpr Case kCases[] = {{alltoall, 0}, {alltoall, 2}, {alltoallv, 0}, {alltoallv, 2},
                           {scatter, 0},  {scatter, 2},  {alltoallw, 0}};

std::string error_of(Communicator& comm, const Case& one) {
  try {
    run(comm, one.call, one.calls);
    return "none";
  } catch (const PeerError& error) {
    // And of each call after it.
    try {
      alltoall(comm, 8);
    } catch (const PeerError& again) {
      return error.what() == std::string(again.what()) ? error.what() : again.what();
    }
    return "none the second time";
  }
}

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
}  // namespace weft
