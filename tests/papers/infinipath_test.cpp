// Kumar, Mamidala and Panda, "Scaling Alltoall Collective on Multi-core Systems", 2008: InfiniPath
// QLE7140 SDR, 64 nodes of 8 cores (sections 3 and 6.1.1), under MVAPICH-PSM.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers::infinipath_test {
namespace {

using plan::Collective;

struct InfiniPath {
  explicit InfiniPath(Software software, int nodes = 64, int cores = 8)
      : cluster(software, "qle7140", nodes, cores) {}

  double us(const std::string& algorithm, std::uint64_t bytes, Order order) const {
    return cluster.us(Collective::alltoall, algorithm, bytes, order);
  }
  double bruck_us(std::uint64_t bytes) const { return us("bruck", bytes, Order::blocking); }
  double isend_us(std::uint64_t bytes) const { return us("isend", bytes, Order::free); }
  /// What MVAPICH-PSM does: Bruck up to 256 bytes, irecv-isend above.
  double flat_us(std::uint64_t bytes) const {
    return bytes <= 256 ? bruck_us(bytes) : isend_us(bytes);
  }
  /// With the same between the nodes.
  double scheme_us(const std::string& scheme, std::uint64_t bytes) const {
    return bytes <= 256 ? us(scheme + ":between=bruck", bytes, Order::phased_blocking)
                        : us(scheme, bytes, Order::phased);
  }
  /// What send-side aggregation saves of the flat alltoall.
  double saved(std::uint64_t bytes) const { return 1 - scheme_us("sa", bytes) / flat_us(bytes); }

  Cluster cluster;
};

TEST(InfiniPath, FlatAlltoalls) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const InfiniPath cluster(software);
    return {{"Bruck", cluster.bruck_us(bytes)}, {"irecv-isend", cluster.isend_us(bytes)}};
  };
  Table table("infinipath-flat", {"bytes"});
  for (const std::uint64_t bytes : {64, 128, 256, 512, 1024}) {
    const std::string paper = bytes <= 256 ? "Bruck" : "irecv-isend";
    table.row({size(bytes)}, paper, Status::calibrated,
              expect_fastest(times(Software::paper, bytes), paper),
              list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

TEST(InfiniPath, SchemesBySize) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const InfiniPath cluster(software);
    return {{"flat", cluster.flat_us(bytes)},
            {"leader", cluster.scheme_us("leader", bytes)},
            {"SA", cluster.scheme_us("sa", bytes)}};
  };
  Table table("infinipath-schemes", {"bytes"});
  for (const std::uint64_t bytes : {32, 128, 256, 512, 1024, 2048, 4096, 8192}) {
    const auto found = times(Software::paper, bytes);
    const bool sa = bytes <= 2048;
    table.row({size(bytes)}, sa ? "SA" : "not SA",
              bytes == 512 ? Status::calibrated : Status::predicted,
              {list(found), (fastest(found) == "SA") == sa}, list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

TEST(InfiniPath, LeaderWithVerySmallBlocks) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const InfiniPath cluster(software);
    return {{"flat", cluster.flat_us(bytes)},
            {"leader", cluster.scheme_us("leader", bytes)},
            {"SA", cluster.scheme_us("sa", bytes)}};
  };
  Table table("infinipath-small", {"bytes"});
  for (const std::uint64_t bytes : {1, 2, 4, 8}) {
    const auto found = times(Software::paper, bytes);
    const double best = std::ranges::min_element(found, {}, &Time::us)->us;
    table.row({size(bytes)}, "leader, or within 5 % of the best", Status::predicted,
              {list(found), found[1].us <= 1.05 * best}, list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

TEST(InfiniPath, GainsOfAggregationByNodes) {
  Table table("infinipath-nodes", {"nodes"});
  const auto saved = [](Software software, int nodes) {
    return InfiniPath(software, nodes).saved(512);
  };
  double before = saved(Software::paper, 8);
  const std::string first = percent(before);
  for (const int nodes : {16, 32, 64}) {
    const double found = saved(Software::paper, nodes);
    const bool named = nodes == 64;
    table.row({std::to_string(nodes)},
              named ? "SA saves 55 %" : "saves more than on half the nodes",
              named ? Status::calibrated : Status::predicted,
              {percent(found) + (nodes == 16 ? ", on 8 nodes " + first : ""),
               named ? std::abs(found - 0.55) <= 0.05 : found > before},
              percent(saved(Software::weft, nodes)));
    before = found;
  }
  table.expect_on_page();
}

TEST(InfiniPath, AggregationAndDistribution) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const InfiniPath cluster(software);
    return {{"SA", cluster.scheme_us("sa", bytes)}, {"RD", cluster.scheme_us("rd", bytes)}};
  };
  Table table("infinipath-sa-rd", {"bytes"});
  for (const std::uint64_t bytes : {16, 64, 128, 512, 1024, 2048}) {
    const auto found = times(Software::paper, bytes);
    const double saved = 1 - found[0].us / found[1].us;
    const bool alike = bytes <= 256;
    table.row({size(bytes)}, alike ? "alike, within 5 %" : "SA saves at least 10 %",
              Status::calibrated,
              {list(found) + ": " + percent(saved), alike ? std::abs(saved) <= 0.05 : saved >= 0.1},
              list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

TEST(InfiniPath, CoresForTheSameData) {
  const auto times = [](Software software, std::uint64_t bytes) {
    std::vector<Time> list;
    for (const auto& [name, cores] : {std::pair("1 core", 1), {"2 cores", 2}, {"4", 4}, {"8", 8}}) {
      const auto share = bytes / static_cast<std::uint64_t>(cores * cores);
      list.push_back({name, InfiniPath(software, 64, cores).isend_us(share)});
    }
    return list;
  };
  Table table("infinipath-cores", {"bytes between two nodes"});
  for (const std::uint64_t bytes : {1024, 4096, 16384}) {
    const auto found = times(Software::paper, bytes);
    table.row({size(bytes)}, "grows with cores", Status::predicted,
              {list(found), std::ranges::is_sorted(found, {}, &Time::us)},
              list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers::infinipath_test
