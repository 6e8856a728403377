// Progress bar on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weft::cli {

/// One line with a bar and the remaining time, where standard error is a terminal and the work
/// takes more than two seconds; nothing otherwise. The destructor erases the line.
class Progress {
 public:
  /// `total`: the work to do, in any unit.
  Progress(std::string label, std::uint64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Draws the bar at each call, so callers limit how often they call.
  void update(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  std::uint64_t total_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
};

/// "45 s", "3 min 20 s", "2 h 5 min".
std::string duration(double seconds);

}  // namespace weft::cli
