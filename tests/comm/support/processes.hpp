// Ranks as processes, joined by TCP: for what must hold when one of them ends or may do less.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/weft.hpp"

namespace weft::test {

struct Ended {
  bool in_time = false;  // ended by itself
  int signal = 0;        // that ended it; 0: ended without one
  std::string said;      // the result of the body, or the error that it threw
};

/// Runs `body` in a process for each rank, with these environment variables too. Ends those that
/// are still there after a minute.
std::vector<Ended> run_processes(int ranks,
                                 const std::vector<std::pair<std::string, std::string>>& settings,
                                 const std::function<std::string(int rank)>& body);

}  // namespace weft::test
