// The work of a bootstrap outside weft, such as the messages of an MPI, moves on under calls that
// never wait, too.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>

#include "tests/comm/support/run_ranks.hpp"

namespace weft {
namespace {

using test::none;
using test::run_ranks;

constexpr long kMostCalls = 20'000'000;

/// A bootstrap that counts the calls of its progress().
class Counting : public Bootstrap {
 public:
  Counting(std::unique_ptr<Bootstrap> inner, long& moves)
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
  long& moves_;
};

TEST(Host, MovesOnUnderCallsThatNeverWait) {
  const auto errors = run_ranks(1, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    long moves = 0;
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
    long moves = 0;
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

}  // namespace
}  // namespace weft
