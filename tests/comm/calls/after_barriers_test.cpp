// Barriers that suit the call that follows them: when they are made, and that all ranks agree.
#include "comm/calls/after_barriers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>

#include "tests/comm/support/algorithms_that_ran.hpp"
#include "tests/comm/support/placement.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::comm::after_barriers_test {
namespace {

using plan::Collective;
using plan::Leaving;
using plan::Problem;
using test::calls_by;
using test::none;
using test::on;
using test::run_ranks;

constexpr int kOften = 100;  // more than it takes

Problem problem(Collective collective, int root = 0) {
  Problem result = Problem::alltoall(4, 8);
  result.collective = collective;
  result.root = root;
  return result;
}

/// A barrier as it is made now.
Problem barrier_of(const AfterBarriers& calls) {
  Problem barrier = problem(Collective::barrier);
  calls.prepare(barrier);
  EXPECT_TRUE(calls.suits(barrier));
  Problem other = barrier;
  other.leaving = other.leaving == Leaving::any ? Leaving::root_first : Leaving::any;
  EXPECT_FALSE(calls.suits(other));
  return barrier;
}

void repeat(AfterBarriers& calls, const Problem& after, int times = kOften) {
  for (int i = 0; i < times; ++i) {
    calls.note(problem(Collective::barrier));
    calls.note(after);
  }
}

TEST(AfterBarriers, LetTheRootGoFirst) {
  AfterBarriers calls(true);
  EXPECT_EQ(barrier_of(calls).leaving, Leaving::any);
  repeat(calls, problem(Collective::broadcast, 2));
  EXPECT_EQ(barrier_of(calls).leaving, Leaving::root_first);
  EXPECT_EQ(barrier_of(calls).root, 2);
  repeat(calls, problem(Collective::scatter, 2), 1);  // all wait for 2 there, too
  EXPECT_EQ(barrier_of(calls).leaving, Leaving::root_first);
  repeat(calls, problem(Collective::broadcast, 1), 1);
  EXPECT_EQ(barrier_of(calls).leaving, Leaving::any);
  repeat(calls, problem(Collective::scatter, 1));
  EXPECT_EQ(barrier_of(calls).root, 1);
}

TEST(AfterBarriers, LetTheFirstOfAScanGoFirst) {
  for (const auto collective : {Collective::scan, Collective::exscan}) {
    AfterBarriers calls(true);
    repeat(calls, problem(collective));
    EXPECT_EQ(barrier_of(calls).leaving, Leaving::root_first) << to_string(collective);
    EXPECT_EQ(barrier_of(calls).root, 0) << to_string(collective);
  }
}

TEST(AfterBarriers, LetARootThatWaitsForAllGoLast) {
  for (const auto collective : {Collective::gather, Collective::reduce}) {
    AfterBarriers calls(true);
    repeat(calls, problem(Collective::broadcast, 3));
    repeat(calls, problem(collective, 3), 1);
    EXPECT_EQ(barrier_of(calls).leaving, Leaving::any) << to_string(collective);
    repeat(calls, problem(collective, 3));
    EXPECT_EQ(barrier_of(calls).leaving, Leaving::root_last) << to_string(collective);
    EXPECT_EQ(barrier_of(calls).root, 3) << to_string(collective);
  }
}

TEST(AfterBarriers, AreForAnyCallWhereNoRankIsWaitedFor) {
  for (const auto collective : {Collective::allreduce, Collective::alltoall, Collective::barrier}) {
    AfterBarriers calls(true);
    repeat(calls, problem(Collective::broadcast));
    repeat(calls, problem(collective));
    EXPECT_EQ(barrier_of(calls).leaving, Leaving::any) << to_string(collective);
  }
  AfterBarriers calls(true);
  repeat(calls, problem(Collective::broadcast));
  calls.note(problem(Collective::barrier));
  calls.note_other();
  EXPECT_EQ(barrier_of(calls).leaving, Leaving::any);
}

TEST(AfterBarriers, AreForAnyCallWhereWhatFollowsChanges) {
  AfterBarriers calls(true);
  for (int i = 0; i < kOften; ++i) {
    repeat(calls, problem(Collective::broadcast), 3);
    repeat(calls, problem(Collective::allreduce), 1);
    EXPECT_EQ(barrier_of(calls).leaving, Leaving::any);
  }
}

TEST(AfterBarriers, AreForAnyCallWhereThatIsOfNoUse) {
  AfterBarriers calls(false);
  repeat(calls, problem(Collective::broadcast));
  EXPECT_EQ(barrier_of(calls).leaving, Leaving::any);
}

/// Barriers and other calls with one rank's number in them, some of them made again as they were.
class Caller {
 public:
  explicit Caller(Communicator& comm) : comm_(comm), own_(static_cast<unsigned>(comm.rank())) {}

  void barrier() {
    if (own_() % 4 != 0 && comm_.repeat(barrier_, nullptr, nullptr)) return;
    comm_.barrier();
    barrier_ = comm_.last_made();
  }
  void after(unsigned kind, int root, std::uint32_t number) {
    const auto rank = static_cast<std::uint32_t>(comm_.rank());
    std::array<std::uint32_t, 4> all = {number, number + 1, number + 2, number + 3};
    std::uint32_t one = comm_.rank() == root ? number : 0;
    switch (kind) {
      case 0:
        comm_.broadcast(&one, sizeof one, root);
        ASSERT_EQ(one, number);
        break;
      case 1:
        comm_.scatter(all.data(), &one, sizeof one, root);
        ASSERT_EQ(one, number + rank);
        break;
      case 2:
        comm_.broadcast(nullptr, 0, root);
        break;
      case 3: {
        const std::uint32_t own = number + static_cast<std::uint32_t>(rank);
        comm_.gather(&own, all.data(), sizeof own, root);
        for (std::uint32_t i = 0; i < all.size() && comm_.rank() == root; ++i)
          ASSERT_EQ(all[i], number + i);
        break;
      }
      default:
        comm_.allreduce(&number, &one, 1, operation(Operator::sum, Type::uint32));
        ASSERT_EQ(one, 4 * number);
    }
  }

 private:
  Communicator& comm_;
  std::mt19937 own_;
  Communicator::Made barrier_ = {};
};

TEST(AfterBarriers, AreTheSameOnAllRanks) {
  const auto errors = run_ranks(4, [](int, std::unique_ptr<Bootstrap> bootstrap) {
    Options options = on("1x4");
    options.crowded = true;
    Communicator comm(std::move(bootstrap), options);
    Caller caller(comm);
    std::mt19937 same(7);
    const auto below = [&](std::uint32_t most) {
      return static_cast<std::uint32_t>(same()) % most;
    };
    for (std::uint32_t phase = 0; phase < 30; ++phase) {
      const unsigned kind = below(5);
      const int root = static_cast<int>(below(4));
      const unsigned times = below(2 * kOften);
      for (unsigned i = 0; i < times; ++i) {
        caller.barrier();
        ASSERT_NO_FATAL_FAILURE(caller.after(kind, root, phase + i));
      }
    }
    EXPECT_GT(calls_by(comm, "barrier", "leader"), 100u);
    EXPECT_GT(calls_by(comm, "barrier", "dissemination:radix=4"), 100u);
  });
  EXPECT_EQ(errors, none(4));
}

}  // namespace
}  // namespace weft::comm::after_barriers_test
