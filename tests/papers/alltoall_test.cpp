// Alltoall after the older papers: Traeff, "Effective MPI: User-defined Datatypes and Cartesian
// Communicators for Zero-copy All-to-all Communication in Multidimensional Tori", 2026; Kinkead et
// al., "Scaling All-to-all Operations Across Emerging Many-Core Supercomputers", 2026.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers::alltoall_test {
namespace {

using plan::Collective;

constexpr double kNoSearch = 0;  // PSM2 finds receives by hash tables
constexpr double kCompetitive = 1.1;

TEST(Factors, OfTheNumberOfRanks) {
  const auto times = [](Software software, int nodes, std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster(software, "omni-path-100", nodes, 1, kNoSearch);
    const auto us = [&](const char* algorithm, Order order) {
      return cluster.us(Collective::alltoall, algorithm, bytes, order);
    };
    return {{"factors", std::min(us("factors", Order::free), us("factors:radix=8", Order::free))},
            {"Bruck", std::min(us("bruck", Order::blocking), us("bruck:radix=8", Order::blocking))},
            {"irecv-isend", us("isend", Order::free)}};
  };
  Table table("factors", {"nodes", "bytes"});
  for (const int nodes : {60, 64}) {
    for (const std::uint64_t bytes : {8, 64, 512, 4096}) {
      const auto found = times(Software::paper, nodes, bytes);
      const double native = std::min(found[1].us, found[2].us);
      table.row({std::to_string(nodes), size(bytes)}, "competitive: at most 10 % longer",
                Status::predicted, {list(found), found[0].us <= kCompetitive * native},
                list(times(Software::weft, nodes, bytes)));
    }
  }
  table.expect_on_page();
}

TEST(ManyCores, LeadersForSmallBlocksAndAggregationForLargeOnes) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster(software, "omni-path-100", 32, 16, kNoSearch);
    const auto best = [&](std::initializer_list<const char*> algorithms, Order order) {
      double least = 1e12;
      for (const char* one : algorithms) {
        least = std::min(least, cluster.us(Collective::alltoall, one, bytes, order));
      }
      return least;
    };
    return {{"flat", std::min(best({"bruck", "pairwise-xor"}, Order::blocking),
                              best({"isend"}, Order::free))},
            {"multi-leader",
             best({"leader", "leader:leaders=2", "leader:leaders=4", "leader:leaders=8"},
                  Order::phased)},
            {"locality-aware", best({"sa", "sa:cores=4"}, Order::phased)}};
  };
  Table table("many-cores", {"bytes"});
  for (const std::uint64_t bytes : {4, 64, 4096}) {
    const std::string paper = bytes <= 64 ? "multi-leader" : "locality-aware";
    table.row({size(bytes)}, paper, Status::predicted,
              expect_fastest(times(Software::paper, bytes), paper),
              list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers::alltoall_test
