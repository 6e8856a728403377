// Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH",
// 2005: a cluster joined by Myrinet 2000, one process a node (section 4). The switching points of
// the paper are those that MPICH was given.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers {
namespace {

using plan::Collective;

struct Choice {
  const char* name;
  double us;
};

const char* best_of(std::initializer_list<Choice> choices) {
  return std::ranges::min_element(choices, {}, &Choice::us)->name;
}

/// Ours has the same three in the same order; both switches come earlier.
TEST(Myrinet, AlltoallIsByBruckThenIsendThenPairwise) {
  const Cluster cluster("myrinet-2000", 64);
  const auto us = [&](const char* algorithm, std::uint64_t bytes) {
    return cluster.us(Collective::alltoall, algorithm, bytes);
  };
  Table table("myrinet-alltoall",
              {"bytes", "Bruck, us", "irecv-isend, us", "pairwise, us", "best, ours", "paper"});
  for (const std::uint64_t bytes : {16, 64, 128, 256, 1024, 8192, 16384, 32768, 131072}) {
    const Choice bruck{"Bruck", us("bruck", bytes)};
    const Choice isend{"irecv-isend", us("isend", bytes)};
    const Choice pairwise{"pairwise", us("pairwise-xor", bytes)};
    const std::string best = best_of({bruck, isend, pairwise});
    const char* paper = bytes <= 256 ? bruck.name : bytes <= 32768 ? isend.name : pairwise.name;
    table.row({size(bytes), number(bruck.us), number(isend.us), number(pairwise.us), best, paper});
    const bool between_switches = (bytes > 64 && bytes <= 256) || (bytes > 8192 && bytes <= 32768);
    if (!between_switches) {
      EXPECT_EQ(best, paper) << bytes;
    }
  }
  table.expect_on_page();
}

/// Ours turns to scatter and allgather earlier.
TEST(Myrinet, BroadcastIsBinomialForShortAndScatterAllgatherForLongMessages) {
  Table table("myrinet-broadcast", {"processes", "bytes", "binomial, us", "scatter + allgather, us",
                                    "best, ours", "paper"});
  for (const int processes : {4, 16, 64}) {
    const Cluster cluster("myrinet-2000", processes);
    for (const std::uint64_t bytes : {512, 2048, 8192, 16384, 65536, 524288}) {
      const auto us = [&](const char* algorithm) {
        return cluster.us(Collective::broadcast, algorithm, bytes);
      };
      const Choice binomial{"binomial", us("binomial")};
      const double shorter = std::min(us("scatter-doubling"), us("scatter-ring"));
      const Choice both{"scatter + allgather", shorter};
      const std::string best = best_of({binomial, both});
      const char* paper = bytes < 12288 || processes < 8 ? binomial.name : both.name;
      table.row({std::to_string(processes), size(bytes), number(binomial.us), number(both.us), best,
                 paper});
      if (bytes == 512 || (processes >= 8 && bytes > 12288)) {
        EXPECT_EQ(best, paper) << bytes << " on " << processes;
      }
    }
  }
  table.expect_on_page();
}

/// On a power of two ours never turns to the ring; elsewhere recursive doubling has the middle.
TEST(Myrinet, AllgatherIsByBruckDoublingAndRing) {
  Table table("myrinet-allgather", {"processes", "bytes in all", "Bruck, us", "doubling, us",
                                    "ring, us", "best, ours", "paper"});
  for (const int processes : {63, 64}) {
    const Cluster cluster("myrinet-2000", processes);
    for (const std::uint64_t bytes : {16, 256, 1024, 2048, 4096, 16384}) {
      const auto us = [&](const char* algorithm) {
        return cluster.us(Collective::allgather, algorithm, bytes);
      };
      const Choice bruck{"Bruck", us("bruck")};
      const Choice doubling{"doubling", us("doubling")};
      const Choice ring{"ring", us("ring")};
      const std::string best = best_of({bruck, doubling, ring});
      const std::uint64_t all = bytes * static_cast<std::uint64_t>(processes);
      const char* paper = processes == 64     ? all < (512U << 10) ? doubling.name : ring.name
                          : all < (80U << 10) ? bruck.name
                                              : ring.name;
      table.row({std::to_string(processes), size((all + 1023) / 1024 * 1024), number(bruck.us),
                 number(doubling.us), number(ring.us), best, paper});
      const bool differs = processes == 64 ? bytes == 16384 : bytes == 256 || bytes == 1024;
      if (!differs) {
        EXPECT_EQ(best, paper) << bytes << " on " << processes;
      }
    }
  }
  table.expect_on_page();
}

TEST(Myrinet, ReduceIsByRabenseifnerAbove2KiB) {
  const Cluster cluster("myrinet-2000", 64);
  Table table("myrinet-reduce",
              {"bytes", "binomial, us", "Rabenseifner, us", "best, ours", "paper"});
  for (const std::uint64_t bytes : {256, 1024, 2048, 4096, 16384, 65536}) {
    const Choice binomial{"binomial", cluster.us(Collective::reduce, "binomial", bytes)};
    const Choice other{"Rabenseifner", cluster.us(Collective::reduce, "halving-doubling", bytes)};
    const std::string best = best_of({binomial, other});
    const char* paper = bytes <= 2048 ? binomial.name : other.name;
    table.row({size(bytes), number(binomial.us), number(other.us), best, paper});
    if (bytes != 2048) {
      EXPECT_EQ(best, paper) << bytes;
    }
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers
