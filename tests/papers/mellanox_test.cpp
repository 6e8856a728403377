// Kumar, Mamidala and Panda, "Scaling Alltoall Collective on Multi-core Systems", 2008: InfiniHost
// III MT25208 DDR on 64 nodes of 8 cores, ConnectX MT25408 DDR on 4 (sections 3, 6.1.2 and 6.1.3).
#include <algorithm>

#include <gtest/gtest.h>

#include "nic_profiles/probe/simulated_target.hpp"
#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers {
namespace {

using plan::Collective;

double us(const Cluster& cluster, const std::string& algorithm, std::uint64_t bytes) {
  return cluster.us(Collective::alltoall, algorithm, bytes);
}

/// With the step between nodes that is the fastest.
double tuned_us(const Cluster& cluster, const std::string& scheme, std::uint64_t bytes) {
  double best =
      std::min(us(cluster, scheme, bytes), us(cluster, scheme + ":between=pairwise-xor", bytes));
  if (bytes <= 512) best = std::min(best, us(cluster, scheme + ":between=bruck", bytes));
  return best;
}

/// GB/s of messages of 1 MiB.
double two_way_rate(const std::string& nic, int pairs) {
  nic_profiles::SimulatedTarget target(nic_profiles::load(nic));
  constexpr std::uint64_t kBytes = 1 << 20;
  constexpr int kMessages = 16;
  const double ns = target.steady_ns({pairs, pairs, kBytes, kMessages, true});
  return 2.0 * pairs * kMessages * kBytes / ns;
}

void expect_rates(const std::string& nic, const std::string& paper, double least, double most) {
  Table table(nic + "-pairs",
              {"adapter", "1 pair, GB/s", "2 pairs", "4 pairs", "8 pairs", "paper"});
  std::vector<std::string> cells = {nic};
  double first = 0;
  double last = 0;
  for (const int pairs : {1, 2, 4, 8}) {
    last = two_way_rate(nic, pairs);
    if (pairs == 1) first = last;
    cells.push_back(number(last));
  }
  cells.push_back(paper);
  table.row(cells);
  table.expect_on_page();
  EXPECT_GT(last / first, least);
  EXPECT_LT(last / first, most);
}

TEST(InfiniHost, TwoWayBandwidthFallsWithPairs) {
  expect_rates("mt25208", "falls", 0.3, 0.8);
}

TEST(ConnectX, TwoWayBandwidthRisesWithPairs) {
  expect_rates("mt25408", "rises", 1.2, 3);
}

/// Beyond 512 bytes ours has pairwise exchange ahead of the leader, where MVAPICH still used Bruck.
TEST(InfiniHost, LeaderIsBest) {
  const Cluster cluster("mt25208", 64, 8);
  Table table("infinihost-schemes", {"bytes", "Bruck, us", "pairwise, us", "leader, us", "SA, us",
                                     "leader over the best", "leader over Bruck and SA", "paper"});
  for (const std::uint64_t bytes : {1, 16, 128, 512, 2048, 8192}) {
    const double bruck = us(cluster, "bruck", bytes);
    const double pairwise = us(cluster, "pairwise-xor", bytes);
    const double leader = tuned_us(cluster, "leader", bytes);
    const double sa = tuned_us(cluster, "sa", bytes);
    const double over_all = leader / std::min({bruck, pairwise, leader, sa});
    const double over_those = leader / std::min({bruck, leader, sa});
    table.row({size(bytes), number(bruck), number(pairwise), number(leader), number(sa),
               number(over_all), number(over_those), "best"});
    EXPECT_LE(over_those, 1.02) << bytes;
    EXPECT_LE(over_all, bytes <= 512 ? 1.02 : 1.15) << bytes;
  }
  table.expect_on_page();
}

TEST(InfiniHost, AggregationAndDistributionAreAlike) {
  const Cluster cluster("mt25208", 64, 8);
  Table table("infinihost-sa-rd", {"bytes", "SA, us", "RD, us", "SA saves", "paper"});
  for (const std::uint64_t bytes : {1, 16, 128, 512, 2048, 8192}) {
    const double sa = us(cluster, "sa", bytes);
    const double rd = us(cluster, "rd", bytes);
    table.row({size(bytes), number(sa), number(rd), percent(1 - sa / rd), "0 %"});
    EXPECT_NEAR(sa / rd, 1, 0.03) << bytes;
  }
  table.expect_on_page();
}

/// Section 2.4. Where cores store their messages they come one after another anyhow.
TEST(FatTree, StormsOfLargeMessagesCongestWherePairsDoNot) {
  constexpr std::uint64_t kBytes = 128 << 10;
  Table table("fat-tree", {"adapter", "nodes a leaf", "irecv-isend, us", "pairwise, us",
                           "irecv-isend over pairwise", "paper"});
  for (const std::string nic : {"mt25208", "myrinet-2000", "qle7140", "omni-path-100"}) {
    const Cluster cluster(nic, 64, 2);
    const double storm = us(cluster, "isend", kBytes);
    const double pairs = us(cluster, "pairwise-xor", kBytes);
    const auto hardware = nic_profiles::load(nic).hardware;
    table.row({nic, std::to_string(hardware.fabric.nodes_per_leaf), number(storm), number(pairs),
               number(storm / pairs), nic == "omni-path-100" ? "-" : "above 1"});
    const bool fetches = hardware.adapter.pio_bytes < kBytes;
    if (fetches && hardware.fabric.nodes_per_leaf == 8) {
      EXPECT_GT(storm / pairs, 1.15) << nic;
    }
  }
  table.expect_on_page();
}

/// At a byte ours has the leader ahead.
TEST(ConnectX, AggregationAndDistributionBeatOneLeader) {
  const Cluster cluster("mt25408", 4, 8);
  Table table("connectx-schemes", {"bytes", "leader, us", "SA, us", "RD, us", "SA over leader",
                                   "RD over leader", "paper"});
  for (const std::uint64_t bytes : {1, 16, 128, 512, 2048, 8192, 32768}) {
    const double leader = tuned_us(cluster, "leader", bytes);
    const double sa = tuned_us(cluster, "sa", bytes);
    const double rd = tuned_us(cluster, "rd", bytes);
    table.row({size(bytes), number(leader), number(sa), number(rd), number(sa / leader),
               number(rd / leader), "below 1"});
    if (bytes == 1) continue;
    EXPECT_LT(sa, leader) << bytes;
    EXPECT_LT(rd, leader) << bytes;
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers
