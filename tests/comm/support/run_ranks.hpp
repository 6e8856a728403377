// Ranks as threads of the test.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "weft/weft.hpp"

namespace weft::test {

/// Runs `body(rank, bootstrap)` in a thread for each rank; returns each rank's error ("": none).
inline std::vector<std::string> run_ranks(
    int ranks, const std::function<void(int, std::unique_ptr<Bootstrap>)>& body) {
  auto bootstraps = thread_bootstraps(ranks);
  std::vector<std::string> errors(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank, std::move(bootstraps[rank]));
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return errors;
}

inline std::vector<std::string> none(int ranks) {
  return std::vector<std::string>(ranks);
}

}  // namespace weft::test
