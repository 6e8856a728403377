// Calls that ranks compare before they make them (WEFT_CHECK=1).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "comm/setup/call_check.hpp"
#include "tests/comm/run_ranks.hpp"

namespace weft {
namespace {

using test::run_ranks;

constexpr int kRanks = 4;

class CheckedCalls : public testing::Test {
 protected:
  CheckedCalls() { ::setenv("WEFT_CHECK", "1", 1); }
  ~CheckedCalls() override { ::unsetenv("WEFT_CHECK"); }

  /// The error is the same on all ranks, and names these places.
  static void expect_error(const std::vector<std::string>& errors,
                           const std::vector<std::string>& parts) {
    for (const std::string& error : errors) {
      EXPECT_EQ(error, errors.front());
      EXPECT_EQ(error.find("ranks disagree: "), 0u) << error;
      for (const std::string& part : parts) EXPECT_NE(error.find(part), error.npos) << error;
    }
  }
};

TEST_F(CheckedCalls, PassWhereTheyAgree) {
  const auto errors = run_ranks(kRanks, [&](int rank, auto bootstrap) {
    Communicator comm(std::move(bootstrap));
    EXPECT_TRUE(comm.checks_calls());
    for (int round = 0; round < 3; ++round) {
      std::array<int, 8> in{}, out{};
      std::fill(in.begin(), in.end(), rank);
      comm.allreduce(in.data(), out.data(), in.size(), operation(Operator::sum, Type::int32));
      EXPECT_EQ(out[7], 6);
      comm.broadcast(in.data(), sizeof in, round);
      EXPECT_EQ(in[3], round);
      comm.barrier();
      // Each knows its own part only.
      std::vector<Part> parts(kRanks, Part{0, 4});
      std::array<int, kRanks> all{};
      for (std::size_t i = 0; i < parts.size(); ++i) parts[i].offset = 4 * i;
      comm.gather(in.data(), 4, all.data(), parts, 1);
      auto request = comm.allreduce_init(in.data(), out.data(), in.size(),
                                         operation(Operator::maximum, Type::int32));
      request.start();
      request.wait();
      EXPECT_EQ(out[0], round);
    }
  });
  EXPECT_EQ(errors, test::none(kRanks));
}

TEST_F(CheckedCalls, NameBothRootsOnAllRanks) {
  const auto errors = run_ranks(kRanks, [&](int rank, auto bootstrap) {
    Communicator comm(std::move(bootstrap));
    std::array<char, 64> data{};
    comm.broadcast(data.data(), data.size(), 0);
    comm.broadcast(data.data(), data.size(), 1);
    comm.broadcast(data.data(), data.size(), rank == 2 ? 1 : 0);
  });
  expect_error(errors, {"broadcast of 64 bytes with root 0 on rank 0",
                        "broadcast of 64 bytes with root 1 on rank 2"});
}

TEST_F(CheckedCalls, NameWhatTheCallerAdds) {
  const auto errors = run_ranks(kRanks, [&](int rank, auto bootstrap) {
    Communicator comm(std::move(bootstrap));
    std::array<int, 4> in{}, out{};
    const bool odd = rank == 3;
    comm.describe_next_call(odd ? "max" : "sum", odd ? "MPI_MAX" : "MPI_SUM");
    comm.allreduce(in.data(), out.data(), in.size(),
                   operation(odd ? Operator::maximum : Operator::sum, Type::int32));
  });
  expect_error(errors, {"MPI_SUM on rank 0", "MPI_MAX on rank 3"});
}

TEST_F(CheckedCalls, FindOtherCollectivesAndSizes) {
  const auto errors = run_ranks(kRanks, [&](int rank, auto bootstrap) {
    Communicator comm(std::move(bootstrap));
    std::array<std::byte, 256> in{}, out{};
    if (rank == 0) {
      comm.barrier();
    } else {
      comm.alltoall(in.data(), out.data(), rank == 1 ? 8 : 16);
    }
  });
  expect_error(errors, {"barrier of 0 bytes on rank 0", "alltoall of 8 bytes on rank 1"});
  EXPECT_EQ(errors.front().find("16"), std::string::npos);
}

// However votes are joined, the calls of the lowest rank and of the lowest that differs are left.
RC_GTEST_PROP(CallCheck, KeepsTheLowestTwoInAnyOrder, ()) {
  const auto keys =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4)));
  std::vector<std::string> votes;
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    votes.push_back(comm::vote_of(static_cast<int>(rank),
                                  {std::to_string(keys[rank]), "w" + std::to_string(rank)}));
  }
  std::string expected = votes.front();
  const auto other = std::ranges::find_if(keys, [&](int key) { return key != keys.front(); });
  if (other != keys.end()) {
    expected =
        comm::join_votes(votes.front(), votes[static_cast<std::size_t>(other - keys.begin())]);
    RC_ASSERT(expected != votes.front());
  }
  while (votes.size() > 1) {
    const auto at = *rc::gen::inRange<std::size_t>(0, votes.size() - 1);
    const bool swaps = *rc::gen::arbitrary<bool>();
    votes[at] = swaps ? comm::join_votes(votes[at + 1], votes[at])
                      : comm::join_votes(votes[at], votes[at + 1]);
    votes.erase(votes.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  RC_ASSERT(votes.front() == expected);
}

}  // namespace
}  // namespace weft
