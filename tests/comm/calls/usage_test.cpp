// What a communicator counts of its calls.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "tests/comm/support/run_ranks.hpp"

namespace weft::usage_test {
namespace {

using Clock = std::chrono::steady_clock;

// Entries are apart by size up to powers of two, and add up to the calls made.
RC_GTEST_PROP(Usage, IsBySizeOfBlocks, ()) {
  const auto sizes =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 5000));
  constexpr int kRanks = 2;
  std::map<std::uint64_t, std::uint64_t> calls, bytes;
  for (const std::size_t size : sizes) {
    ++calls[std::bit_ceil(size)];
    bytes[std::bit_ceil(size)] += size * kRanks;
  }
  const auto errors = test::run_ranks(kRanks, [&](int, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    std::vector<std::byte> input(10000), output(10000);
    std::uint64_t sent = 0;
    for (const std::size_t size : sizes) {
      comm.alltoall(input.data(), output.data(), size);
      sent += size;
    }
    const Statistics statistics = comm.statistics();
    std::map<std::uint64_t, std::uint64_t> counted, counted_bytes;
    for (const auto& entry : statistics.entries) {
      if (entry.calls == 0) continue;
      counted[entry.block_bytes_at_most] += entry.calls;
      counted_bytes[entry.block_bytes_at_most] += entry.bytes;
      if (entry.waiting_seconds > entry.seconds) throw std::runtime_error("waits for too long");
    }
    if (counted != calls) throw std::runtime_error("other calls");
    if (counted_bytes != bytes) throw std::runtime_error("other bytes");
    if (statistics.sent_bytes != std::vector<std::uint64_t>(kRanks, sent)) {
      throw std::runtime_error("sent something else");
    }
  });
  RC_ASSERT(errors == test::none(kRanks));
}

// To each rank its own sizes, which change from call to call and stay for some.
TEST(Usage, CountsWhatAlltoallvHadForEachRank) {
  constexpr int kRanks = 3;
  const auto errors = test::run_ranks(kRanks, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    std::vector<std::byte> input(4096), output(4096);
    std::vector<std::uint64_t> sent(kRanks);
    const auto bytes_of = [](int from, int to, int round) {
      return static_cast<std::size_t>(8 * (1 + (3 * from + 5 * to + round / 4) % 11));
    };
    for (int round = 0; round < 20; ++round) {
      std::vector<Part> sends, receives;
      for (int other = 0; other < kRanks; ++other) {
        const auto at = static_cast<std::size_t>(other) * 1024;
        sends.push_back({at, bytes_of(rank, other, round)});
        receives.push_back({at, bytes_of(other, rank, round)});
        sent[static_cast<std::size_t>(other)] += sends.back().bytes;
      }
      comm.alltoallv(input.data(), sends, output.data(), receives);
    }
    if (comm.statistics().sent_bytes != sent) throw std::runtime_error("counted something else");
  });
  EXPECT_EQ(errors, test::none(kRanks));
}

// A rank that comes late to each call is waited for by the others and waits for none itself. It
// comes when the others are about to call, and some time later.
TEST(Usage, TellsWaitingForALateRankFromMovingData) {
  constexpr int kRanks = 3;
  constexpr int kLate = 1;
  constexpr int kCalls = 10;
  constexpr auto kLater = std::chrono::milliseconds(20);
  std::atomic<int> ready = 0;
  std::vector<double> waited(kRanks), seconds(kRanks);
  const auto errors = test::run_ranks(kRanks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    Communicator comm(std::move(bootstrap));
    comm.barrier();
    for (int call = 1; call <= kCalls; ++call) {
      if (rank == kLate) {
        while (ready < call * (kRanks - 1)) std::this_thread::yield();
        const auto until = Clock::now() + kLater;
        while (Clock::now() < until) std::this_thread::yield();
      } else {
        ++ready;
      }
      comm.barrier();
    }
    for (const auto& entry : comm.statistics().entries) {
      waited[rank] += entry.waiting_seconds;
      seconds[rank] += entry.seconds;
    }
  });
  EXPECT_EQ(errors, test::none(kRanks));
  const double late = kCalls * std::chrono::duration<double>(kLater).count();
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_LE(waited[rank], seconds[rank]);
    if (rank == kLate) {
      EXPECT_LT(waited[rank], late / 2);
    } else {
      EXPECT_GT(waited[rank], late / 2);
    }
  }
}

}  // namespace
}  // namespace weft::usage_test
