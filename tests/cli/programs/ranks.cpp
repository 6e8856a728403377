// Program for tests of weft run: ranks print what must be separate for each of them.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "weft/weft.hpp"

namespace {

int calls = 0;  // a global: each rank has one

struct SaysGoodbye {
  ~SaysGoodbye() { std::cout << "goodbye of " << std::getenv("WEFT_RANK") << std::endl; }
} says_goodbye;

// Initialized before main(): the environment and std::cerr must be usable by then.
const std::string rank_at_start = std::getenv("WEFT_RANK");
const bool errors_work = (std::cerr << "").good();

void say_bye() {
  std::cout << "bye of " << rank_at_start << std::endl;
}

/// Buffers of all ranks, large enough to be read in place.
bool alltoall_is_right(weft::Communicator& world) {
  const auto ranks = static_cast<std::size_t>(world.size());
  constexpr std::size_t kBlock = 30'000;
  std::vector<int> in(ranks * kBlock), out(in.size());
  for (std::size_t to = 0; to < ranks; ++to) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      in[to * kBlock + i] = world.rank() * 1000 + static_cast<int>(to * 7 + i);
    }
  }
  world.alltoall<int>(in, out);
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      const int expected = static_cast<int>(from) * 1000 + world.rank() * 7 + static_cast<int>(i);
      if (out[from * kBlock + i] != expected) return false;
    }
  }
  return true;
}

int communicate(int argc, char** argv) {
  weft::Communicator world(weft::tcp_bootstrap());
  ++calls;
  const bool right = alltoall_is_right(world);
  world.barrier();
  std::thread([] { ++calls; }).join();
  const std::string line = "rank " + rank_at_start + " of " + std::to_string(world.size()) + ": " +
                           (right ? "right" : "wrong") + ", " + std::to_string(calls) +
                           " calls, by " + world.statistics().view + ", " + argv[argc - 1] + "\n";
  std::cout << line << std::flush;
  return right && errors_work ? 0 : 1;
}

/// Rank 1 leaves, and makes the file; after that rank 0 looks whether all is well.
int leave(const char* file) {
  auto bootstrap = weft::tcp_bootstrap();
  bootstrap->allgather("here");
  if (bootstrap->rank() == 1) {
    bootstrap.reset();
    std::ofstream{file};
  } else if (bootstrap->rank() == 0) {
    while (!std::filesystem::exists(file)) std::this_thread::yield();
    bootstrap->check();
  }
  return 0;
}

int child_exits() {
  const pid_t child = ::fork();
  if (child == 0) std::exit(5);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "communicate") return communicate(argc, argv);
  if (what == "fork") return child_exits();
  if (what == "leave") return leave(argv[2]);
  std::atexit(say_bye);
  // Neither of them returns.
  if (what == "exit") std::exit(argc > 2 && rank_at_start == "1" ? std::atoi(argv[2]) : 0);
  if (what == "quick") ::_exit(0);
  if (what == "wait" && rank_at_start != "0") ::pause();
  return what == "wait" ? 3 : 0;
}
