// Huang et al., "PiP-MColl: Process-in-Process-based Multi-object MPI Collectives", 2023: nodes of
// 18 processes on Omni-Path (section IV). Its baseline is MPICH, whose algorithms know of no nodes.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers::pip_mcoll_test {
namespace {

using plan::Collective;

constexpr double kNoSearch = 0;  // PSM2 finds receives by hash tables

Cluster nodes_of_18(Software software, int nodes) {
  return {software, "omni-path-100", nodes, 18, kNoSearch};
}

/// "83.0 and 12.6: 6.57".
std::string gain_text(const std::vector<Time>& times) {
  return list(times) + ": " + number(times[0].us / times[1].us);
}

double gain(const std::vector<Time>& times) {
  return times[0].us / times[1].us;
}

TEST(PipMcoll, AllgatherOf16Bytes) {
  const auto times = [](Software software, int nodes) -> std::vector<Time> {
    const Cluster cluster = nodes_of_18(software, nodes);
    return {{"Bruck", cluster.us(Collective::allgather, "bruck", 16, Order::blocking)},
            {"multi-object", cluster.us(Collective::allgather, "multi-object", 16)}};
  };
  Table table("pip-allgather-small", {"nodes"});
  for (const int nodes : {8, 32, 128}) {
    const auto found = times(Software::paper, nodes);
    const bool named = nodes == 128;
    table.row({std::to_string(nodes)}, named ? "gain above 6" : "gains", Status::predicted,
              {gain_text(found), gain(found) > (named ? 6 : 1)},
              gain_text(times(Software::weft, nodes)));
  }
  table.expect_on_page();
}

TEST(PipMcoll, Scatter) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster = nodes_of_18(software, 128);
    return {{"binomial", cluster.us(Collective::scatter, "binomial", bytes, Order::blocking)},
            {"multi-object", cluster.us(Collective::scatter, "multi-object:inside=direct", bytes)}};
  };
  Table table("pip-scatter", {"bytes"});
  const double at_256 = gain(times(Software::paper, 256));
  const double at_1024 = gain(times(Software::paper, 1024));
  for (const std::uint64_t bytes : {16, 64, 256, 1024, 65536}) {
    const auto found = times(Software::paper, bytes);
    const auto row = [&](const char* paper, bool agrees) {
      table.row({size(bytes)}, paper, Status::predicted, {gain_text(found), agrees},
                gain_text(times(Software::weft, bytes)));
    };
    if (bytes < 256) row("gains less than with 256 B", gain(found) < at_256);
    if (bytes == 256) row("gain 1.65, within 10 %", std::abs(gain(found) / 1.65 - 1) <= 0.1);
    if (bytes == 1024) row("gain 1.32, within 10 %", std::abs(gain(found) / 1.32 - 1) <= 0.1);
    if (bytes > 1024) row("gains less than with 1 KiB", gain(found) < at_1024);
  }
  table.expect_on_page();
}

TEST(PipMcoll, Allreduce) {
  // MPICH: recursive doubling up to 2 KiB, halving and doubling above.
  const auto times = [](Software software, int nodes, std::uint64_t doubles) -> std::vector<Time> {
    const Cluster cluster = nodes_of_18(software, nodes);
    const std::uint64_t bytes = doubles * sizeof(double);
    const char* flat = bytes <= 2048 ? "recursive-doubling" : "halving-doubling";
    return {{"flat", cluster.us(Collective::allreduce, flat, bytes, Order::blocking)},
            {"multi-object", cluster.us(Collective::allreduce, "multi-bruck", bytes)}};
  };
  Table table("pip-allreduce", {"doubles", "nodes"});
  for (const int nodes : {8, 32, 128}) {
    const auto found = times(Software::paper, nodes, 16);
    table.row({"16", std::to_string(nodes)}, "gains", Status::predicted,
              {gain_text(found), gain(found) > 1}, gain_text(times(Software::weft, nodes, 16)));
  }
  // That benefits decrease says that there are some.
  const double on_8 = gain(times(Software::paper, 8, 1024));
  double before = on_8;
  for (const int nodes : {32, 128}) {
    const auto found = times(Software::paper, nodes, 1024);
    table.row({"1024", std::to_string(nodes)}, "gains on 8 nodes, and less with more",
              Status::predicted,
              {gain_text(found) + (nodes == 32 ? ", on 8 nodes " + number(on_8) : ""),
               on_8 > 1 && gain(found) < before},
              gain_text(times(Software::weft, nodes, 1024)));
    before = gain(found);
  }
  table.expect_on_page();
}

/// The sizes from which on PiP-MColl takes its algorithms for large messages.
TEST(PipMcoll, LargeMessages) {
  struct Case {
    Collective collective;
    const char* small;
    const char* large;
    std::uint64_t bytes;
  };
  const auto times = [](Software software, const Case& one) -> std::vector<Time> {
    const Cluster cluster = nodes_of_18(software, 32);
    return {{"small", cluster.us(one.collective, one.small, one.bytes)},
            {"large", cluster.us(one.collective, one.large, one.bytes)}};
  };
  Table table("pip-crossover", {"collective", "bytes"});
  std::vector<Case> cases;
  for (const std::uint64_t bytes : {64, 512, 4096, 65536}) {
    cases.push_back({Collective::allgather, "multi-object", "leader:leaders=all", bytes});
  }
  for (const std::uint64_t bytes : {1024, 4096, 16384, 131072}) {
    cases.push_back({Collective::allreduce, "multi-bruck", "multi-ring", bytes});
  }
  for (const Case& one : cases) {
    const std::string paper = one.bytes < 65536 ? "small" : "large";
    table.row({std::string(to_string(one.collective)), size(one.bytes)}, paper, Status::predicted,
              expect_fastest(times(Software::paper, one), paper), list(times(Software::weft, one)));
  }
  table.expect_on_page();
}

/// The ring of all ranks of a node, with and without the overlap of what is done inside it.
TEST(PipMcoll, OverlapInLargeAllgather) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster = nodes_of_18(software, 16);
    constexpr const char* kRing = "leader:leaders=all";
    return {{"one after the other",
             cluster.us_in_order(Collective::allgather, kRing, bytes, Order::phased)},
            {"overlapped", cluster.us(Collective::allgather, kRing, bytes)}};
  };
  Table table("pip-overlap", {"bytes"});
  for (const std::uint64_t bytes : {16384, 65536}) {
    const auto found = times(Software::paper, bytes);
    table.row({size(bytes)}, "gain above 1.1", Status::predicted,
              {gain_text(found), gain(found) > 1.1}, gain_text(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers::pip_mcoll_test
