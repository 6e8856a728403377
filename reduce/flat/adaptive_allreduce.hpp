// Adaptive allreduce: the step at each level of its recursion.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace weft::reduce {

enum class Principle : std::uint8_t { exchange, scatter, fold };

struct Level {
  Principle principle = Principle::exchange;
  int count = 0;  // exchange: 2; scatter: members of a group; fold: pairs

  bool operator==(const Level&) const = default;
};

/// Chooses by predicted cost, the same on every rank.
class LevelChoice {
 public:
  /// `latency`: bytes that cross the network while one message starts.
  explicit LevelChoice(std::uint64_t latency) : latency_(latency) {}

  /// For `members` > 1 that have `bytes` each to reduce.
  Level choose(int members, std::uint64_t bytes);

 private:
  struct Best {
    Level level;  // of no count: none costs less than `cost`
    std::uint64_t cost = 0;
  };

  /// The best of what costs less than `limit`, or none, with the limit as its cost.
  Best best_below(int members, std::uint64_t bytes, std::uint64_t limit);

  std::uint64_t latency_;
  std::map<std::pair<int, std::uint64_t>, Best> known_;
};

}  // namespace weft::reduce
