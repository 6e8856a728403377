// Rabenseifner, "Optimization of Collective Reduction Operations", 2004, section 4: allreduce of
// doubles on a Cray T3E-900.
#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers {
namespace {

using plan::Collective;

/// The largest distance of two neighbouring powers of two in the number.
int delta(unsigned processes) {
  int most = 0;
  int above = std::bit_width(processes) - 1;
  for (int bit = above - 1; bit >= 0; --bit) {
    if ((processes >> bit & 1) == 0) continue;
    most = std::max(most, above - bit);
    above = bit;
  }
  return most;
}

struct Times {
  explicit Times(int processes, std::uint64_t bytes) {
    const Cluster cluster("t3e-900", processes);
    const auto us = [&](const char* algorithm) {
      return cluster.us(Collective::allreduce, algorithm, bytes);
    };
    halving = us("halving-doubling");
    blocks = us("binary-blocks");
    ring = us("ring");
  }
  std::string best() const {
    if (ring < std::min(blocks, halving)) return "ring";
    return halving < blocks ? "halving and doubling" : "binary blocks";
  }

  double halving = 0;
  double blocks = 0;
  double ring = 0;
};

/// On a power of two binary blocks are halving and doubling. Ours has the ring ahead on 13 and 15
/// too, not on 17, and never has halving and doubling ahead.
TEST(T3e, RingIsFastestOnFewProcessesAndBinaryBlocksElsewhere) {
  constexpr std::uint64_t kBytes = 32768;
  Table table("t3e-32k", {"processes", "delta", "halving and doubling, us", "binary blocks, us",
                          "ring, us", "fastest, ours", "paper"});
  for (const int p : {3,  4,  5,  7,  8,  9,  10, 11, 13, 15,  16,  17,  33,
                      36, 60, 61, 65, 66, 77, 80, 96, 97, 100, 128, 129, 131}) {
    const Times times(p, kBytes);
    const bool ring = p == 3 || p == 5 || p == 7 || (p >= 9 && p <= 11) || p == 17;
    const bool halving = p == 33 || p == 65 || p == 66 || p == 97 || (p >= 128 && p <= 131);
    const bool power = std::has_single_bit(static_cast<unsigned>(p));
    const std::string paper = ring ? "ring" : halving ? "halving and doubling" : "binary blocks";
    table.row({std::to_string(p), std::to_string(delta(static_cast<unsigned>(p))),
               number(times.halving), number(times.blocks), number(times.ring),
               power ? "both" : times.best(), power ? "both" : paper});
    if (ring && p != 17) {
      EXPECT_EQ(times.best(), "ring") << p;
    }
    // delta < lg(bytes) / 2 - 2.5
    if (p > 32 && delta(static_cast<unsigned>(p)) < 5) {
      EXPECT_LE(times.blocks, std::min(times.halving, times.ring)) << p;
    }
  }
  table.expect_on_page();
}

/// The paper's halving and doubling wins where delta is large because the smallest block has as
/// many messages as the ratio of blocks. Ours pays for them as well, but less than it saves.
TEST(T3e, BinaryBlocksLoseWhereDeltaIsLarge) {
  const auto over_power = [](int processes) {
    const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(processes)));
    return Times(processes, 32768).blocks / Times(power, 32768).blocks;
  };
  Table table("t3e-delta", {"processes", "delta", "binary blocks over the power of two below"});
  for (const int p : {96, 100, 66, 65}) {
    table.row({std::to_string(p), std::to_string(delta(static_cast<unsigned>(p))),
               number(over_power(p))});
  }
  table.expect_on_page();
  EXPECT_GT(over_power(65), over_power(96));
  EXPECT_GT(over_power(129), over_power(130));
}

TEST(T3e, RecursiveDoublingIsFastestUpTo32Bytes) {
  Table table("t3e-small", {"processes", "bytes", "recursive doubling, us",
                            "binomial tree and back, us", "halving and doubling, us", "paper"});
  for (const int processes : {60, 64}) {
    const Cluster cluster("t3e-900", processes);
    for (const std::uint64_t bytes : {8, 32, 1024, 8192}) {
      const auto us = [&](const char* algorithm) {
        return cluster.us(Collective::allreduce, algorithm, bytes);
      };
      const double doubling = us("recursive-doubling");
      const double tree = us("reduce-broadcast");
      const double halving = us("halving-doubling");
      const char* paper = bytes <= 32     ? "doubling"
                          : bytes <= 1024 ? "tree, little better"
                                          : "the others";
      table.row({std::to_string(processes), size(bytes), number(doubling), number(tree),
                 number(halving), paper});
      if (bytes <= 32) {
        EXPECT_LT(doubling, std::min(tree, halving)) << bytes;
      }
      if (bytes > 1024) {
        EXPECT_LT(halving, std::min(doubling, tree)) << bytes;
      }
    }
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers
