// Huang et al., "PiP-MColl: Process-in-Process-based Multi-object MPI Collectives", 2023: nodes of
// 18 processes on Omni-Path (section IV). Its baseline is MPICH, whose algorithms know of no nodes.
#include <gtest/gtest.h>

#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers {
namespace {

using plan::Collective;

Cluster nodes_of_18(int nodes) {
  return Cluster("omni-path-100", nodes, 18);
}

TEST(PipMcoll, AllgatherOf16BytesGainsFourfoldAndMoreWithNodes) {
  Table table("pip-allgather-small", {"nodes", "Bruck over all, us", "one object a node, us",
                                      "multi-object, us", "gain", "gain over one object", "paper"});
  double before = 0;
  for (const int nodes : {8, 32, 128}) {
    const Cluster cluster = nodes_of_18(nodes);
    const double flat = cluster.us(Collective::allgather, "bruck", 16);
    const double one = cluster.us(Collective::allgather, "leader:between=bruck", 16);
    const double multi = cluster.us(Collective::allgather, "multi-object", 16);
    table.row({std::to_string(nodes), number(flat), number(one), number(multi),
               number(flat / multi), number(one / multi), nodes == 128 ? "above 6" : "grows"});
    EXPECT_GT(flat / multi, before);
    before = flat / multi;
  }
  table.expect_on_page();
  EXPECT_GT(before, 4);
}

/// Ours gains most for the least blocks, and does not fade away.
TEST(PipMcoll, ScatterGainsForSmallBlocksAndFades) {
  const Cluster cluster = nodes_of_18(128);
  Table table("pip-scatter", {"bytes", "binomial, us", "multi-object, staged, us",
                              "multi-object, direct, us", "gain", "paper"});
  double before = 1e9;
  for (const std::uint64_t bytes : {16, 64, 256, 1024, 65536}) {
    const auto us = [&](const char* algorithm) {
      return cluster.us(Collective::scatter, algorithm, bytes);
    };
    const double flat = us("binomial");
    const double multi = us("multi-object:inside=direct");
    const char* paper = bytes == 256 ? "1.65" : bytes == 1024 ? "1.32" : bytes < 256 ? "less" : "1";
    table.row({size(bytes), number(flat), number(us("multi-object")), number(multi),
               number(flat / multi), paper});
    EXPECT_GT(flat / multi, 1.2) << bytes;
    EXPECT_LT(flat / multi, before) << bytes;
    before = flat / multi;
  }
  table.expect_on_page();
}

TEST(PipMcoll, AllreduceGainsFor16DoublesAndLessWithNodesFor1024) {
  Table table("pip-allreduce",
              {"nodes", "16 doubles: flat, us", "multi-object, us", "gain",
               "1024 doubles: one object, us", "multi-object, us", "gain", "paper"});
  double first = 0;
  double last = 0;
  for (const int nodes : {8, 32, 128}) {
    const Cluster cluster = nodes_of_18(nodes);
    const auto us = [&](const char* algorithm, std::uint64_t bytes) {
      return cluster.us(Collective::allreduce, algorithm, bytes);
    };
    const double small_one = us("recursive-doubling", 128);
    const double small = us("multi-bruck", 128);
    const double medium_one = us("leader", 8192);
    const double medium = us("multi-bruck", 8192);
    table.row({std::to_string(nodes), number(small_one), number(small), number(small_one / small),
               number(medium_one), number(medium), number(medium_one / medium), "gains; shrinks"});
    EXPECT_GT(small_one / small, 1.3) << nodes;
    last = medium_one / medium;
    if (nodes == 8) first = last;
  }
  table.expect_on_page();
  EXPECT_LT(last, 0.8 * first);
}

/// Ours crosses far earlier.
TEST(PipMcoll, LargeMessagesTakeAnotherAlgorithm) {
  const Cluster cluster = nodes_of_18(32);
  Table table("pip-crossover", {"collective", "bytes", "small algorithm, us", "large algorithm, us",
                                "faster, ours", "paper"});
  const auto row = [&](Collective collective, const char* small, const char* large,
                       std::uint64_t bytes) {
    const double a = cluster.us(collective, small, bytes);
    const double b = cluster.us(collective, large, bytes);
    table.row({std::string(to_string(collective)), size(bytes), number(a), number(b),
               a < b ? "small" : "large", bytes < 65536 ? "small" : "large"});
    return a < b;
  };
  const auto allgather = [&](std::uint64_t bytes) {
    return row(Collective::allgather, "multi-object", "leader:leaders=all", bytes);
  };
  EXPECT_TRUE(allgather(64));
  allgather(512);
  allgather(4096);
  EXPECT_FALSE(allgather(65536));
  const auto allreduce = [&](std::uint64_t bytes) {
    return row(Collective::allreduce, "multi-bruck", "multi-ring", bytes);
  };
  EXPECT_TRUE(allreduce(1024));
  allreduce(4096);
  allreduce(16384);
  EXPECT_FALSE(allreduce(131072));
  table.expect_on_page();
}

/// The ring of all ranks of a node, with and without the overlap of what is done inside it.
TEST(PipMcoll, LargeAllgatherGainsFromOverlap) {
  const Cluster cluster = nodes_of_18(16);
  Table table("pip-overlap",
              {"bytes", "one after the other, us", "overlapped, us", "gain", "paper"});
  for (const std::uint64_t bytes : {16384, 65536}) {
    constexpr const char* kRing = "leader:leaders=all";
    const double apart = cluster.us_one_after_another(Collective::allgather, kRing, bytes);
    const double overlapped = cluster.us(Collective::allgather, kRing, bytes);
    table.row({size(bytes), number(apart), number(overlapped), number(apart / overlapped), "1.10"});
    EXPECT_GT(apart / overlapped, 1.05) << bytes;
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers
