// Set-ups of large communicators, with ranks as threads: time, memory and messages of a rank.
#include <gtest/gtest.h>
#include <malloc.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "comm/bootstrap/agreement.hpp"
#include "comm/setup/placement.hpp"
#include "engine/node/shared_memory.hpp"
#include "weft/weft.hpp"

namespace weft::scale_test {
namespace {

constexpr int kRanksOnNode = 16;
constexpr std::size_t kStack = 256 << 10;

/// Ranks that are threads with small stacks.
class LightRanks {
 public:
  template <class Body>
  LightRanks(int ranks, Body body) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    const auto run = [](void* argument) -> void* {
      const std::unique_ptr<std::pair<Body*, int>> task(
          static_cast<std::pair<Body*, int>*>(argument));
      (*task->first)(task->second);
      return nullptr;
    };
    std::vector<pthread_t> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      pthread_t thread{};
      auto task = std::make_unique<std::pair<Body*, int>>(&body, rank);
      EXPECT_EQ(pthread_create(&thread, &attributes, run, task.get()), 0);
      task.release();
      threads.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  }
};

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// What a job knows of its ranks: nodes of 16 that share their cores.
std::shared_ptr<const comm::Facts> facts_of(int ranks) {
  comm::Facts facts{.settings = comm::Settings::from_environment(),
                    .machine = hierarchy::Machine::uniform(ranks / kRanksOnNode, kRanksOnNode),
                    .waiting = {true, "sleep"},
                    .any_crowded = true,
                    .busiest_host = {}};
  return std::make_shared<const comm::Facts>(std::move(facts));
}

void set_up(int ranks) {
  auto bootstraps = thread_bootstraps(ranks);
  Options options;
  options.facts = facts_of(ranks);
  std::vector<std::unique_ptr<Communicator>> communicators(static_cast<std::size_t>(ranks));
  std::atomic<int> failures{0};
  const auto heap_before = ::mallinfo2();
  const auto begin = std::chrono::steady_clock::now();
  const LightRanks threads(ranks, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    try {
      communicators[at] = std::make_unique<Communicator>(std::move(bootstraps[at]), options);
    } catch (const std::exception& error) {
      if (failures++ == 0) std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    }
  });
  const double ms = milliseconds_since(begin);
  ASSERT_EQ(failures, 0);
  const auto heap_after = ::mallinfo2();
  std::uint64_t shared = 0;
  for (const char* label : {"weft-node", "weft-stage"}) {
    for (const auto block : engine::SharedMemory::created(label)) shared += block.size();
  }
  const auto each = [ranks](std::uint64_t bytes) {
    return static_cast<double>(bytes) / 1024 / ranks;
  };
  const std::uint64_t heap =
      heap_after.uordblks + heap_after.hblkhd - heap_before.uordblks - heap_before.hblkhd;
  std::printf(
      "%d ranks, %d on a node: set up in %.1f ms, %.3f ms a rank; %.1f KiB of heap and "
      "%.1f KiB of shared memory a rank, %.0f B of heap for each rank of the communicator\n",
      ranks, kRanksOnNode, ms, ms / ranks, each(heap), each(shared), 1024 * each(heap) / ranks);
  EXPECT_EQ(communicators.front()->size(), ranks);
}

TEST(Scale, SetUpOf64Ranks) {
  set_up(64);
}

TEST(Scale, SetUpOf512Ranks) {
  set_up(512);
}

TEST(Scale, SetUpOf4096Ranks) {
  if (std::getenv("WEFT_LONG_TESTS") == nullptr) GTEST_SKIP() << "one of the longer tests";
  set_up(4096);
}

// A vote of any ranks is the worst of all, and what members of a group give comes to them alone.
TEST(Scale, VotesAndGatheringsAreTheSameOnAllRanks) {
  for (const int ranks : {1, 2, 3, 9, 10, 73, 200}) {
    auto bootstraps = thread_bootstraps(ranks);
    std::atomic<int> wrong{0};
    const LightRanks threads(ranks, [&](int rank) {
      Bootstrap& bootstrap = *bootstraps[static_cast<std::size_t>(rank)];
      const auto longest = [](std::string_view a, std::string_view b) {
        return std::string(a.size() > b.size() ? a : b);
      };
      const auto mine = std::string(static_cast<std::size_t>(rank), 'x');
      if (bootstrap.combine(mine, longest).size() != static_cast<std::size_t>(ranks - 1)) ++wrong;
      std::vector<int> members;
      for (int other = rank % 3; other < ranks; other += 3) members.push_back(other);
      // Fails on two ranks: the lowest's error is everybody's.
      for (const bool fails : {false, true}) {
        const auto outcome =
            comm::gather_steps(bootstrap, members, comm::attempt([&]() -> std::string {
                                 if (fails && rank >= ranks - 2) throw Error("refused");
                                 return mine;
                               }));
        if (fails) {
          const int first = std::max(0, ranks - 2);
          if (outcome.error != "rank " + std::to_string(first) + ": refused") ++wrong;
          continue;
        }
        if (outcome.results.size() != members.size()) ++wrong;
        for (std::size_t i = 0; i < outcome.results.size(); ++i) {
          if (outcome.results[i].size() != static_cast<std::size_t>(members[i])) ++wrong;
        }
      }
    });
    EXPECT_EQ(wrong, 0) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace weft::scale_test
