// Kumar, Mamidala and Panda, "Scaling Alltoall Collective on Multi-core Systems", 2008: InfiniHost
// III MT25208 DDR on 64 nodes of 8 cores, ConnectX MT25408 DDR on 4 (sections 3, 6.1.2 and 6.1.3),
// under MVAPICH-Gen2.
#include <algorithm>

#include <gtest/gtest.h>

#include "nic_profiles/probe/simulated_target.hpp"
#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers::mellanox_test {
namespace {

using plan::Collective;

constexpr std::uint64_t kMostBruck = 8192;  // bytes; above, MVAPICH-Gen2 exchanges pairwise

double flat_us(const Cluster& cluster, std::uint64_t bytes) {
  return cluster.us(Collective::alltoall, bytes <= kMostBruck ? "bruck" : "pairwise-xor", bytes,
                    Order::blocking);
}

/// With the same between the nodes.
double scheme_us(const Cluster& cluster, const std::string& scheme, std::uint64_t bytes) {
  const char* step = bytes <= kMostBruck ? ":between=bruck" : ":between=pairwise-xor";
  return cluster.us(Collective::alltoall, scheme + step, bytes, Order::phased_blocking);
}

/// GB/s of messages of 1 MiB.
double two_way_rate(const std::string& nic, int pairs) {
  nic_profiles::SimulatedTarget target(nic_profiles::load(nic));
  constexpr std::uint64_t kBytes = 1 << 20;
  constexpr int kMessages = 16;
  const double ns = target.steady({pairs, pairs, kBytes, kMessages, true}).ns;
  return 2.0 * pairs * kMessages * kBytes / ns;
}

/// Figures 2 to 4: from one pair of cores to four.
TEST(Pairs, TwoWayBandwidth) {
  Table table("pairs", {"adapter"});
  for (const std::string nic : {"qle7140", "mt25208", "mt25408"}) {
    const bool rises = nic != "mt25208";
    const std::vector<Time> rates = {{"1 pair", two_way_rate(nic, 1)},
                                     {"2 pairs", two_way_rate(nic, 2)},
                                     {"4", two_way_rate(nic, 4)}};
    const double ratio = rates.back().us / rates.front().us;
    table.row({nic}, rises ? "rises" : "falls", Status::calibrated,
              {list(rates) + " GB/s", rises ? ratio > 1.05 : ratio < 0.95}, "the same");
  }
  table.expect_on_page();
}

TEST(InfiniHost, Schemes) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster(software, "mt25208", 64, 8);
    return {{"flat", flat_us(cluster, bytes)},
            {"leader", scheme_us(cluster, "leader", bytes)},
            {"SA", scheme_us(cluster, "sa", bytes)}};
  };
  Table table("infinihost-schemes", {"bytes"});
  for (const std::uint64_t bytes : {1, 16, 128, 512, 2048, 8192, 16384}) {
    table.row({size(bytes)}, "leader", Status::predicted,
              expect_fastest(times(Software::paper, bytes), "leader"),
              list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

TEST(InfiniHost, AggregationAndDistribution) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster(software, "mt25208", 64, 8);
    return {{"SA", scheme_us(cluster, "sa", bytes)}, {"RD", scheme_us(cluster, "rd", bytes)}};
  };
  Table table("infinihost-sa-rd", {"bytes"});
  for (const std::uint64_t bytes : {1, 16, 128, 512, 2048, 8192}) {
    const auto found = times(Software::paper, bytes);
    const double saved = 1 - found[0].us / found[1].us;
    table.row({size(bytes)}, "alike, within 5 %", Status::calibrated,
              {list(found) + ": " + percent(saved), std::abs(saved) <= 0.05},
              list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

TEST(ConnectX, Schemes) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster(software, "mt25408", 4, 8);
    return {{"leader", scheme_us(cluster, "leader", bytes)},
            {"SA", scheme_us(cluster, "sa", bytes)},
            {"RD", scheme_us(cluster, "rd", bytes)}};
  };
  Table table("connectx-schemes", {"bytes"});
  for (const std::uint64_t bytes : {1, 16, 128, 512, 2048, 8192, 32768}) {
    const auto found = times(Software::paper, bytes);
    table.row({size(bytes)}, "SA and RD before the leader", Status::predicted,
              {list(found), std::max(found[1].us, found[2].us) < found[0].us},
              list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

/// Section 2.4. Leaves of 8 nodes were taken for the first two because of this claim.
TEST(FatTree, StormsOfLargeMessages) {
  constexpr std::uint64_t kBytes = 128 << 10;
  const auto times = [](Software software, const std::string& nic) -> std::vector<Time> {
    const Cluster cluster(software, nic, 64, 2);
    return {
        {"irecv-isend", cluster.us(Collective::alltoall, "isend", kBytes)},
        {"pairwise", cluster.us(Collective::alltoall, "pairwise-xor", kBytes, Order::blocking)}};
  };
  Table table("fat-tree", {"adapter"});
  for (const std::string nic : {"mt25208", "qle7140", "myrinet-2000"}) {
    table.row({nic}, "pairwise", nic == "myrinet-2000" ? Status::predicted : Status::calibrated,
              expect_fastest(times(Software::paper, nic), "pairwise"),
              list(times(Software::weft, nic)));
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers::mellanox_test
