// Kumar, Mamidala and Panda, "Scaling Alltoall Collective on Multi-core Systems", 2008: InfiniPath
// QLE7140 SDR, 64 nodes of 8 cores (sections 3 and 6.1.1).
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers {
namespace {

using plan::Collective;

struct InfiniPath {
  explicit InfiniPath(int nodes = 64, int cores = 8) : cluster("qle7140", nodes, cores) {}

  double us(const std::string& algorithm, std::uint64_t bytes) const {
    return cluster.us(Collective::alltoall, algorithm, bytes);
  }
  /// What MVAPICH-PSM does: Bruck up to 256 bytes, irecv-isend above.
  double flat_us(std::uint64_t bytes) const { return us(bytes <= 256 ? "bruck" : "isend", bytes); }
  /// Either between the nodes, whichever is the faster.
  double tuned_us(const std::string& scheme, std::uint64_t bytes) const {
    const double straight = us(scheme, bytes);
    return bytes > 64 ? straight : std::min(straight, us(scheme + ":between=bruck", bytes));
  }

  Cluster cluster;
};

TEST(InfiniPath, SendAggregationTakes55PercentLessAt512Bytes) {
  const InfiniPath cluster;
  const double flat = cluster.flat_us(512);
  const double sa = cluster.tuned_us("sa", 512);
  Table table("infinipath-512", {"bytes", "flat, us", "SA, us", "SA saves", "paper"});
  table.row({size(512), number(flat), number(sa), percent(1 - sa / flat), "55 %"});
  table.expect_on_page();
  EXPECT_NEAR(1 - sa / flat, 0.55, 0.02);
}

TEST(InfiniPath, BruckGivesWayToIsendAt256Bytes) {
  const InfiniPath cluster;
  Table table("infinipath-flat", {"bytes", "Bruck, us", "irecv-isend, us", "ours", "paper"});
  for (const std::uint64_t bytes : {64, 128, 256, 512, 1024}) {
    const double bruck = cluster.us("bruck", bytes);
    const double isend = cluster.us("isend", bytes);
    const char* ours = bruck < isend ? "Bruck" : "irecv-isend";
    const char* paper = bytes <= 256 ? "Bruck" : "irecv-isend";
    table.row({size(bytes), number(bruck), number(isend), ours, paper});
    EXPECT_STREQ(ours, paper) << bytes;
  }
  table.expect_on_page();
}

TEST(InfiniPath, SendAggregationIsBestUpTo2KiBAndNotFarBeyond) {
  const InfiniPath cluster;
  Table table("infinipath-schemes",
              {"bytes", "flat, us", "leader, us", "SA, us", "best, ours", "paper"});
  for (const std::uint64_t bytes : {32, 128, 256, 512, 1024, 2048, 4096, 8192}) {
    const double flat = cluster.flat_us(bytes);
    const double leader = cluster.tuned_us("leader", bytes);
    const double sa = cluster.tuned_us("sa", bytes);
    const char* best = sa < std::min(flat, leader) ? "SA" : flat < leader ? "flat" : "leader";
    const char* paper = bytes <= 2048 ? "SA" : "not SA for long";
    table.row({size(bytes), number(flat), number(leader), number(sa), best, paper});
    EXPECT_EQ(std::string(best) == "SA", bytes <= 2048) << bytes;
  }
  table.expect_on_page();
}

/// The paper has the leader best or close to it. Ours beats the flat alltoall, and SA beats both.
TEST(InfiniPath, LeaderBeatsTheFlatAlltoallForVerySmallBlocks) {
  const InfiniPath cluster;
  Table table("infinipath-small",
              {"bytes", "flat, us", "leader, us", "SA, us", "leader over the best", "paper"});
  for (const std::uint64_t bytes : {1, 2, 4, 8}) {
    const double flat = cluster.flat_us(bytes);
    const double leader = cluster.tuned_us("leader", bytes);
    const double sa = cluster.tuned_us("sa", bytes);
    table.row({size(bytes), number(flat), number(leader), number(sa),
               number(leader / std::min({flat, leader, sa})), "at most 1.05"});
    EXPECT_LT(leader, flat) << bytes;
  }
  table.expect_on_page();
}

TEST(InfiniPath, GainsGrowWithNodes) {
  Table table("infinipath-nodes", {"nodes", "flat, us", "SA, us", "SA saves", "paper"});
  double before = 0;
  for (const int nodes : {8, 16, 32, 64}) {
    const InfiniPath cluster(nodes);
    const double flat = cluster.flat_us(512);
    const double sa = cluster.tuned_us("sa", 512);
    const double saved = 1 - sa / flat;
    table.row({std::to_string(nodes), number(flat), number(sa), percent(saved),
               nodes == 64 ? "55 %" : "grows"});
    EXPECT_GT(saved, before + 0.05) << nodes;
    before = saved;
  }
  table.expect_on_page();
}

/// The paper has 10 % beyond 256 bytes without an end. Ours ends where buffers outgrow the caches.
TEST(InfiniPath, AggregationBeatsDistributionOnceBruckNoLongerTouchesTheData) {
  const InfiniPath cluster;
  Table table("infinipath-sa-rd",
              {"bytes", "between nodes", "SA, us", "RD, us", "SA saves", "paper"});
  for (const std::uint64_t bytes : {16, 64, 128, 512, 1024, 2048}) {
    const bool bruck = bytes < 256;
    const std::string step = bruck ? ":between=bruck" : "";
    const double sa = cluster.us("sa" + step, bytes);
    const double rd = cluster.us("rd" + step, bytes);
    const double saved = 1 - sa / rd;
    table.row({size(bytes), bruck ? "Bruck" : "irecv-isend", number(sa), number(rd), percent(saved),
               bruck ? "0 %" : "at least 10 %"});
    if (bruck) {
      EXPECT_NEAR(saved, 0, 0.05) << bytes;
    } else if (bytes <= 1024) {
      EXPECT_GT(saved, 0.1) << bytes;
    }
  }
  table.expect_on_page();
}

/// The paper's Fig. 1. From one core to two ours saves time where one cannot store fast enough.
TEST(InfiniPath, MoreCoresForTheSameDataTakeLonger) {
  Table table("infinipath-cores", {"bytes between two nodes", "1 core, us", "2 cores, us",
                                   "4 cores, us", "8 cores, us", "paper"});
  for (const std::uint64_t bytes : {1024, 4096, 16384}) {
    std::vector<std::string> cells = {size(bytes)};
    double before = 0;
    for (const int cores : {1, 2, 4, 8}) {
      const auto share = bytes / static_cast<std::uint64_t>(cores * cores);
      const double us = InfiniPath(64, cores).us("isend", share);
      EXPECT_GT(us, cores == 2 ? 0.6 * before : 1.05 * before) << bytes << " on " << cores;
      before = us;
      cells.push_back(number(us));
    }
    cells.emplace_back("grows");
    table.row(cells);
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers
