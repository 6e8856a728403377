// The work of a bootstrap outside weft, such as the messages of an MPI, moves on under calls that
// never wait, too.
#include <gtest/gtest.h>

#include <time.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "tests/comm/support/run_ranks.hpp"

namespace weft::host_test {
namespace {

using test::none;
using test::run_ranks;

constexpr long kMostCalls = 20'000'000;
// Of the processor's time. An access takes a host alone less than one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::int64_t kMostUsAMove = 50;
#else
constexpr std::int64_t kMostUsAMove = 4;
#endif

/// A bootstrap that counts the calls of its progress().
class Counting : public Bootstrap {
 public:
  Counting(std::unique_ptr<Bootstrap> inner, std::atomic<long>& moves)
      : inner_(std::move(inner)), moves_(moves) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::vector<std::string> allgather(std::string_view mine) override {
    return inner_->allgather(mine);
  }
  std::vector<std::string> exchange(std::span<const int> peers,
                                    std::span<const std::string> mine) override {
    return inner_->exchange(peers, mine);
  }
  void progress() override { ++moves_; }

 private:
  std::unique_ptr<Bootstrap> inner_;
  std::atomic<long>& moves_;
};

TEST(Host, MovesOnUnderCallsThatNeverWait) {
  const auto errors = run_ranks(1, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    std::atomic<long> moves{0};
    Communicator comm(std::make_unique<Counting>(std::move(bootstrap), moves));
    long calls = 0;
    while (moves < 10 && calls < kMostCalls) {
      comm.barrier();
      ++calls;
    }
    EXPECT_EQ(moves, 10) << calls << " calls";
    EXPECT_GT(calls, 100) << "it costs calls more than it may";
  });
  EXPECT_EQ(errors, none(1));
}

TEST(Host, MovesOnUnderTests) {
  std::atomic<bool> has_moved{false};
  const auto errors = run_ranks(2, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    std::atomic<long> moves{0};
    Communicator comm(std::make_unique<Counting>(std::move(bootstrap), moves));
    Request barrier = comm.barrier_init();
    while (rank == 1 && !has_moved) std::this_thread::yield();
    moves = 0;
    barrier.start();
    for (long tests = 0; rank == 0 && moves == 0 && tests < kMostCalls; ++tests) {
      ASSERT_FALSE(barrier.test());
    }
    EXPECT_TRUE(rank == 1 || moves > 0);
    has_moved = true;
    barrier.wait();
  });
  EXPECT_EQ(errors, none(2));
}

std::int64_t cpu_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
}

/// A rank that waits for another one, which itself waits for the host of the first, many times
/// over: accesses to a window of an MPI, whose target waits in a barrier of weft.
TEST(Host, MovesOnInAWaitNearlyAsOftenAsAlone) {
  constexpr long kAccesses = 20'000;
  std::atomic<long> moves_of_first{0};
  std::atomic<long> moves_of_second{0};
  const auto errors = run_ranks(2, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    auto& moves = rank == 0 ? moves_of_first : moves_of_second;
    Communicator comm(std::make_unique<Counting>(std::move(bootstrap), moves));
    comm.barrier();
    const long before = moves_of_first;
    while (rank == 1 && moves_of_first < before + kAccesses) std::this_thread::yield();
    const std::int64_t begin_us = cpu_us();
    const long moves_at_begin = moves_of_first;
    comm.barrier();
    if (rank != 0) return;
    const std::int64_t us_a_move = (cpu_us() - begin_us) / (moves_of_first - moves_at_begin);
    EXPECT_LT(us_a_move, kMostUsAMove);
  });
  EXPECT_EQ(errors, none(2));
}

}  // namespace
}  // namespace weft::host_test
