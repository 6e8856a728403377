#include "mpi/fibers/fiber.hpp"

#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft::mpi::fiber_test {
namespace {

TEST(Fiber, RunsUntilItGivesWayAndGoesOnThere) {
  std::string said;
  Fiber fiber([&] {
    said += 'a';
    EXPECT_TRUE(give_way());
    said += 'b';
    EXPECT_TRUE(give_way());
    said += 'c';
  });
  EXPECT_EQ(said, "");
  for (const char* so_far : {"a", "ab", "abc"}) {
    EXPECT_FALSE(fiber.is_done());
    fiber.resume();
    EXPECT_EQ(said, so_far);
  }
  EXPECT_TRUE(fiber.is_done());
}

TEST(Fiber, WaysAreGivenOnFibersOnly) {
  EXPECT_FALSE(gives_way());
  EXPECT_FALSE(give_way());
  bool inside = false;
  Fiber fiber([&] { inside = gives_way(); });
  fiber.resume();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(gives_way());
}

// Each fiber gives way while it handles an exception and while one passes through it: what the
// runtime knows of exceptions must go along.
struct WaitsWhenDestroyed {
  ~WaitsWhenDestroyed() {
    EXPECT_EQ(std::uncaught_exceptions(), 1);
    give_way();
    EXPECT_EQ(std::uncaught_exceptions(), 1);
  }
};

void throw_and_wait(int number) {
  for (int round = 0; round < 3; ++round) {
    const std::string text = std::to_string(100 * number + round);
    try {
      const WaitsWhenDestroyed waits;
      throw std::runtime_error(text);
    } catch (const std::exception& error) {
      give_way();
      EXPECT_EQ(error.what(), text);
      try {
        throw;
      } catch (const std::exception& again) {
        give_way();
        EXPECT_EQ(again.what(), text);
      }
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    EXPECT_EQ(std::current_exception(), nullptr);
  }
}

TEST(Fiber, ExceptionsOfSeveralDoNotMix) {
  std::vector<std::unique_ptr<Fiber>> fibers;
  for (int number = 0; number < 5; ++number) {
    fibers.push_back(std::make_unique<Fiber>([number] { throw_and_wait(number); }));
  }
  bool all_done = false;
  for (std::size_t turn = 0; !all_done; ++turn) {
    all_done = true;
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      // Not in step: some go twice.
      for (std::size_t go = 0; go < 1 + (turn + i) % 2 && !fibers[i]->is_done(); ++go) {
        fibers[i]->resume();
      }
      all_done &= fibers[i]->is_done();
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }
}

TEST(Fiber, GoesOnInOtherThreads) {
  std::vector<std::thread::id> seen;
  Fiber fiber([&] {
    for (int i = 0; i < 4; ++i) {
      throw_and_wait(i);
      seen.push_back(std::this_thread::get_id());
    }
  });
  while (!fiber.is_done()) std::thread([&] { fiber.resume(); }).join();
  EXPECT_EQ(seen.size(), 4U);
}

// Stacks are used again, and hold what a set-up needs.
TEST(Fiber, StacksHoldHalfAMegabyte) {
  for (int round = 0; round < 40; ++round) {
    Fiber fiber([] {
      std::array<volatile char, 512 << 10> large;
      for (std::size_t i = 0; i < large.size(); i += 1024) large[i] = static_cast<char>(i);
      give_way();
      for (std::size_t i = 0; i < large.size(); i += 1024) {
        ASSERT_EQ(large[i], static_cast<char>(i));
      }
    });
    fiber.resume();
    fiber.resume();
    EXPECT_TRUE(fiber.is_done());
  }
}

TEST(FiberDeathTest, AStackThatOverflowsFaults) {
  struct Recursion {
    static int go(volatile char* before, int depth) {
      volatile char here[4096];
      here[0] = before[0];
      return depth == 0 ? 0 : go(here, depth - 1) + here[0];
    }
  };
  EXPECT_DEATH(
      {
        volatile char first[1] = {1};
        Fiber fiber([&] { Recursion::go(first, static_cast<int>(FiberStack::bytes() / 4096)); });
        fiber.resume();
      },
      "");
}

}  // namespace
}  // namespace weft::mpi::fiber_test
