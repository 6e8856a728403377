// Usage: calls, bytes and times of a communicator, by collective and algorithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/setup/stopwatch.hpp"
#include "plan/problem.hpp"
#include "weft/weft.hpp"

namespace weft::comm {

class Usage {
 public:
  /// The number of an entry, for as long as this lives.
  std::size_t entry_for(plan::Collective collective, const std::string& algorithm);

  Statistics::Entry& at(std::size_t entry) noexcept { return entries_[entry]; }
  /// Adds what stopwatches of calls have shown.
  void add_ticks(std::size_t entry, std::uint64_t ticks) noexcept { ticks_[entry] += ticks; }
  std::vector<Statistics::Entry> entries() const;

 private:
  std::vector<Statistics::Entry> entries_;
  std::vector<std::uint64_t> ticks_;  // by entry
  Stopwatch stopwatch_;
};

}  // namespace weft::comm
