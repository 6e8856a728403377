// Calls that ranks compare before they make them (WEFT_CHECK=1).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "comm/setup/call_check.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::check_test {
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

/// An alltoallv of 4 bytes for each pair, described by `sends` and `receives` of the rank.
template <class Describe>
std::vector<std::string> described_exchange(Describe describe) {
  return run_ranks(kRanks, [&](int rank, auto bootstrap) {
    Communicator comm(std::move(bootstrap));
    for (int round = 0; round < 2; ++round) {
      std::vector<Communicator::Described> sends(kRanks, {7, "an int"}), receives = sends;
      describe(rank, round, sends, receives);
      std::array<int, kRanks> in{rank, rank, rank, rank}, out{};
      std::vector<Part> parts;
      for (std::size_t i = 0; i < kRanks; ++i) parts.push_back({4 * i, 4});
      comm.describe_next_call("", "", sends, receives);
      comm.alltoallv(in.data(), parts, out.data(), parts);
      EXPECT_EQ(out, (std::array<int, kRanks>{0, 1, 2, 3}));
    }
  });
}

TEST_F(CheckedCalls, FindPartsThatTheirReceiverDoesNotExpect) {
  const auto errors = described_exchange([](int rank, int round, auto& sends, auto& receives) {
    if (round == 0) return;
    // Of several the lowest receiver's is named.
    if (rank == 3) sends[2] = {9, "a float"};
    if (rank == 0) sends[3] = {8, "a char"};
    if (rank == 1) receives[1] = {0, "anything"};
  });
  expect_error(errors, {"alltoallv, a float to rank 2 on rank 3, an int from rank 3 on rank 2"});
}

TEST_F(CheckedCalls, PassWherePartsFit) {
  const auto errors = described_exchange([](int rank, int round, auto& sends, auto& receives) {
    // Each pair has its own; and what cannot be told fits all.
    for (std::uint64_t peer = 0; peer < kRanks; ++peer) {
      const auto own = static_cast<std::uint64_t>(rank);
      sends[peer] = {1 + own * kRanks + peer, "its own"};
      receives[peer] = {1 + peer * kRanks + own, "another's words"};
    }
    if (round == 1 && rank == 2) sends[0] = {0, "packed"};
    if (round == 1 && rank == 1) receives[3] = {0, "packed"};
  });
  EXPECT_EQ(errors, test::none(kRanks));
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
}  // namespace weft::check_test
