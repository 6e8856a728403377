// Ranks that are threads of one process: an allgather among them.
//
//   build/release/examples/threads 4
//
// thread_bootstraps() makes a bootstrap for each thread. The ranks read one another's memory in
// place.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "weft/weft.hpp"

namespace {

bool run_rank(std::unique_ptr<weft::Bootstrap> bootstrap) {
  weft::Communicator world(std::move(bootstrap));
  const int mine = 10 * world.rank();
  std::vector<int> all(static_cast<std::size_t>(world.size()));
  world.allgather(&mine, all.data(), sizeof mine);
  for (int rank = 0; rank < world.size(); ++rank) {
    if (all[static_cast<std::size_t>(rank)] != 10 * rank) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 4;
  if (ranks < 1) {
    std::fprintf(stderr, "usage: threads [RANKS]\n");
    return 2;
  }
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (auto& bootstrap : weft::thread_bootstraps(ranks)) {
    threads.emplace_back([&right, mine = std::move(bootstrap)]() mutable {
      try {
        if (run_rank(std::move(mine))) ++right;
      } catch (const weft::Error& error) {
        std::fprintf(stderr, "threads: %s\n", error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d of %d ranks right\n", right.load(), ranks);
  return right == ranks ? 0 : 1;
}
