// Scan and exscan: where each rank's lines begin in a common file.
//
//   weft run -n 4 build/release/examples/scan
//
// Ranks have different numbers of lines. A rank's first line has the total of all ranks before as
// its number (exscan); with the rank's own lines (scan) that is the number after its last line.
#include <cstdint>
#include <cstdio>

#include "weft/weft.hpp"

int main() try {
  weft::Communicator world(weft::tcp_bootstrap());
  const auto sum = weft::operation(weft::Operator::sum, weft::Type::uint64);
  const auto rank = static_cast<std::uint64_t>(world.rank());
  const std::uint64_t lines = 10 + rank * rank;

  std::uint64_t first = 0, end = 0;  // exscan leaves rank 0's result as it is
  world.exscan(&lines, &first, 1, sum);
  world.scan(&lines, &end, 1, sum);

  std::uint64_t expected = 0;
  for (std::uint64_t before = 0; before < rank; ++before) expected += 10 + before * before;
  const bool right = first == expected && end == expected + lines;
  std::printf("rank %d: lines %llu to %llu, %s\n", world.rank(),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(end - 1),
              right ? "right" : "WRONG");
  return right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "scan: %s\n", error.what());
  return 1;
}
