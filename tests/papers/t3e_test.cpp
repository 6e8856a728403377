// Rabenseifner, "Optimization of Collective Reduction Operations", 2004, section 4: allreduce of
// doubles on a Cray T3E-900. What a message costs there was calibrated on 32 KiB on up to 17
// processes.
#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "tests/papers/cluster.hpp"
#include "tests/papers/page.hpp"

namespace weft::papers::t3e_test {
namespace {

using plan::Collective;

constexpr std::uint64_t kBytes = 32768;
constexpr double kNoSearch = 0;  // blocking calls: one receive waits at a time

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

double us(Software software, int processes, const char* algorithm, std::uint64_t bytes) {
  return Cluster(software, "t3e-900", processes, 1, kNoSearch)
      .us(Collective::allreduce, algorithm, bytes, Order::blocking);
}

std::vector<Time> large(Software software, int processes, std::uint64_t bytes) {
  return {{"halving-doubling", us(software, processes, "halving-doubling", bytes)},
          {"binary blocks", us(software, processes, "binary-blocks", bytes)},
          {"ring", us(software, processes, "ring", bytes)}};
}

/// What is the fastest with 32 KiB, by figure 5 and its text.
std::string fastest_of_paper(int processes) {
  const auto is_one_of = [&](std::initializer_list<int> list) {
    return std::ranges::find(list, processes) != list.end();
  };
  if (is_one_of({3, 5, 7, 9, 10, 11, 17})) return "ring";
  if (is_one_of({33, 65, 66, 97, 128, 129, 130, 131})) return "halving-doubling";
  return "binary blocks";
}

TEST(T3e, AllreduceOf32KiB) {
  Table table("t3e-32k", {"processes", "delta"});
  for (const int p : {3,  4,  5,  7,  8,  9,  10, 11, 13, 15,  16,  17,  33,
                      36, 60, 61, 65, 66, 77, 80, 96, 97, 100, 128, 129, 131}) {
    const auto found = large(Software::paper, p, kBytes);
    // On a power of two binary blocks are halving and doubling.
    const bool power = std::has_single_bit(static_cast<unsigned>(p));
    const std::string paper = fastest_of_paper(p);
    table.row({std::to_string(p), std::to_string(delta(static_cast<unsigned>(p)))},
              power ? "not the ring" : paper, p <= 17 ? Status::calibrated : Status::predicted,
              {list(found), power ? fastest(found) != "ring" : fastest(found) == paper},
              list(large(Software::weft, p, kBytes)));
  }
  table.expect_on_page();
}

/// "For 15 processes, ring is used if length >= 64 KB."
TEST(T3e, RingOn15Processes) {
  Table table("t3e-15", {"bytes"});
  for (const std::uint64_t bytes : {16384, 65536, 131072}) {
    const auto found = large(Software::paper, 15, bytes);
    const bool ring = bytes >= 65536;
    table.row({size(bytes)}, ring ? "ring" : "not the ring", Status::predicted,
              {list(found), (fastest(found) == "ring") == ring},
              list(large(Software::weft, 15, bytes)));
  }
  table.expect_on_page();
}

/// The bandwidth of binary blocks "depends strongly" on delta.
TEST(T3e, BinaryBlocksByDelta) {
  const auto over_power = [](Software software, int processes) {
    const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(processes)));
    return us(software, processes, "binary-blocks", kBytes) /
           us(software, power, "binary-blocks", kBytes);
  };
  Table table("t3e-delta", {"processes", "delta"});
  double before = 1;
  for (const int p : {96, 100, 66, 65}) {
    const double found = over_power(Software::paper, p);
    table.row({std::to_string(p), std::to_string(delta(static_cast<unsigned>(p)))},
              "slower than with less delta", Status::predicted,
              {number(found) + " of the power of two below", found > before},
              number(over_power(Software::weft, p)));
    before = found;
  }
  table.expect_on_page();
}

TEST(T3e, AllreduceOfShortVectors) {
  const auto times = [](Software software, int processes,
                        std::uint64_t bytes) -> std::vector<Time> {
    return {{"doubling", us(software, processes, "recursive-doubling", bytes)},
            {"tree", us(software, processes, "reduce-broadcast", bytes)},
            {"halving-doubling", us(software, processes, "halving-doubling", bytes)}};
  };
  Table table("t3e-small", {"processes", "bytes"});
  for (const int processes : {60, 64}) {
    for (const std::uint64_t bytes : {8, 32, 1024, 8192}) {
      // On 64 processes the paper has the vendor's algorithm where others have the tree.
      if (processes == 64 && bytes == 1024) continue;
      const std::string paper = bytes <= 32     ? "doubling"
                                : bytes <= 1024 ? "tree"
                                                : "halving-doubling";
      table.row({std::to_string(processes), size(bytes)}, paper, Status::predicted,
                expect_fastest(times(Software::paper, processes, bytes), paper),
                list(times(Software::weft, processes, bytes)));
    }
  }
  table.expect_on_page();
}

}  // namespace
}  // namespace weft::papers::t3e_test
