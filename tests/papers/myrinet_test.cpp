// Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH",
// 2005: a cluster joined by Myrinet 2000, one process a node (section 4), under MPICH-GM. The
// switching points of the paper are those that MPICH was given.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers::myrinet_test {
namespace {

using plan::Collective;

constexpr const char* kNic = "myrinet-2000";

TEST(Myrinet, Alltoall) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster(software, kNic, 64);
    const auto us = [&](const char* algorithm, Order order) {
      return cluster.us(Collective::alltoall, algorithm, bytes, order);
    };
    return {{"Bruck", us("bruck", Order::blocking)},
            {"irecv-isend", us("isend", Order::free)},
            {"pairwise", us("pairwise-xor", Order::blocking)}};
  };
  Table table("myrinet-alltoall", {"bytes"});
  for (const std::uint64_t bytes : {16, 64, 128, 256, 1024, 8192, 16384, 32768, 131072}) {
    const std::string paper = bytes <= 256 ? "Bruck" : bytes <= 32768 ? "irecv-isend" : "pairwise";
    table.row({size(bytes)}, paper, Status::predicted,
              expect_fastest(times(Software::paper, bytes), paper),
              list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

TEST(Myrinet, Broadcast) {
  const auto times = [](Software software, int processes,
                        std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster(software, kNic, processes);
    const auto us = [&](const char* algorithm) {
      return cluster.us(Collective::broadcast, algorithm, bytes, Order::blocking);
    };
    return {{"binomial", us("binomial")},
            {"scatter + allgather", std::min(us("scatter-doubling"), us("scatter-ring"))}};
  };
  Table table("myrinet-broadcast", {"processes", "bytes"});
  for (const int processes : {4, 16, 64}) {
    for (const std::uint64_t bytes : {512, 2048, 8192, 16384, 65536, 524288}) {
      const std::string paper = bytes < 12288 || processes < 8 ? "binomial" : "scatter + allgather";
      table.row({std::to_string(processes), size(bytes)}, paper, Status::predicted,
                expect_fastest(times(Software::paper, processes, bytes), paper),
                list(times(Software::weft, processes, bytes)));
    }
  }
  table.expect_on_page();
}

TEST(Myrinet, Allgather) {
  const auto times = [](Software software, int processes,
                        std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster(software, kNic, processes);
    const auto us = [&](const char* algorithm) {
      return cluster.us(Collective::allgather, algorithm, bytes, Order::blocking);
    };
    return {{"Bruck", us("bruck")}, {"doubling", us("doubling")}, {"ring", us("ring")}};
  };
  Table table("myrinet-allgather", {"processes", "bytes in all"});
  for (const int processes : {63, 64}) {
    for (const std::uint64_t bytes : {16, 256, 1024, 2048, 4096, 16384}) {
      const std::uint64_t all = bytes * static_cast<std::uint64_t>(processes);
      const std::string paper = processes == 64     ? all < (512U << 10) ? "doubling" : "ring"
                                : all < (80U << 10) ? "Bruck"
                                                    : "ring";
      table.row({std::to_string(processes), size((all + 1023) / 1024 * 1024)}, paper,
                Status::predicted, expect_fastest(times(Software::paper, processes, bytes), paper),
                list(times(Software::weft, processes, bytes)));
    }
  }
  table.expect_on_page();
}

TEST(Myrinet, Reduce) {
  const auto times = [](Software software, std::uint64_t bytes) -> std::vector<Time> {
    const Cluster cluster(software, kNic, 64);
    const auto us = [&](const char* algorithm) {
      return cluster.us(Collective::reduce, algorithm, bytes, Order::blocking);
    };
    return {{"binomial", us("binomial")}, {"Rabenseifner", us("halving-doubling")}};
  };
  Table table("myrinet-reduce", {"bytes"});
  for (const std::uint64_t bytes : {256, 1024, 2048, 4096, 16384, 65536}) {
    const std::string paper = bytes <= 2048 ? "binomial" : "Rabenseifner";
    table.row({size(bytes)}, paper, Status::predicted,
              expect_fastest(times(Software::paper, bytes), paper),
              list(times(Software::weft, bytes)));
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers::myrinet_test
