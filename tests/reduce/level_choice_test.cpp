// The levels of an adaptive allreduce beside those of a search that leaves nothing out.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include "reduce/flat/adaptive_allreduce.hpp"

namespace weft::reduce::level_choice_test {
namespace {

struct Found {
  Level level;
  std::uint64_t cost = UINT64_MAX;
};

Found search(int members, std::uint64_t bytes, std::uint64_t latency) {
  if (members == 1) return {{}, 0};
  Found best;
  const auto consider = [&](Principle principle, int count, std::uint64_t cost, int rest,
                            std::uint64_t rest_bytes) {
    cost += search(rest, rest_bytes, latency).cost;
    if (cost < best.cost) best = {{principle, count}, cost};
  };
  if (members % 2 == 0) {
    consider(Principle::exchange, 2, latency + bytes + bytes / 4, members / 2, bytes);
  }
  for (int count = 2; count <= members; ++count) {
    if (members % count != 0) continue;
    const auto group = static_cast<std::uint64_t>(count);
    const std::uint64_t part = bytes / group;
    consider(Principle::scatter, count, (group - 1) * (2 * latency + 2 * part + part / 4),
             members / count, part);
  }
  for (const int count : {1, members - static_cast<int>(std::bit_floor(unsigned(members)))}) {
    if (count == 0) continue;
    consider(Principle::fold, count, 2 * latency + 2 * bytes + bytes / 4, members - count, bytes);
  }
  return best;
}

TEST(LevelChoice, IsThatOfASearchOfAll) {
  for (const std::uint64_t latency : {0, 1, 2, 3, 50, 3000}) {
    LevelChoice choice(latency);
    for (int members = 2; members <= 24; ++members) {
      for (const std::uint64_t bytes : {1, 7, 64, 1000, 5000, 1 << 20}) {
        EXPECT_EQ(choice.choose(members, bytes), search(members, bytes, latency).level)
            << members << " members, " << bytes << " bytes, latency " << latency;
      }
    }
  }
}

}  // namespace
}  // namespace weft::reduce::level_choice_test
