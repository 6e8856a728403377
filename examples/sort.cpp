// Alltoallv: sorts numbers that are distributed over the ranks.
//
//   weft run -n 4 build/release/examples/sort
//
// Rank r is to get the r-th part of the range of numbers. Only the sender knows how many numbers
// it sends to each rank: an alltoall gives these counts to the receivers, and an alltoallv moves
// the numbers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include "weft/weft.hpp"

namespace {

/// Consecutive parts, from their numbers of elements.
std::vector<weft::Part> parts_of(const std::vector<std::uint64_t>& counts) {
  std::vector<weft::Part> parts;
  std::size_t offset = 0;
  for (const std::uint64_t count : counts) {
    parts.push_back({.offset = offset, .bytes = count * sizeof(std::uint32_t)});
    offset += parts.back().bytes;
  }
  return parts;
}

std::vector<std::uint32_t> sorted(weft::Communicator& world, std::vector<std::uint32_t> numbers) {
  const auto ranks = static_cast<std::size_t>(world.size());
  std::ranges::sort(numbers);
  std::vector<std::uint64_t> sends(ranks), receives(ranks);
  for (const std::uint64_t number : numbers) ++sends[(number * ranks) >> 32];
  world.alltoall(std::span<const std::uint64_t>(sends), std::span(receives));

  std::uint64_t total = 0;
  for (const std::uint64_t count : receives) total += count;
  std::vector<std::uint32_t> mine(total);
  world.alltoallv(numbers.data(), parts_of(sends), mine.data(), parts_of(receives));
  std::ranges::sort(mine);
  return mine;
}

}  // namespace

int main() try {
  weft::Communicator world(weft::tcp_bootstrap());
  std::mt19937 random(static_cast<unsigned>(world.rank()));
  std::vector<std::uint32_t> numbers(100'000);
  for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(random());

  const std::vector<std::uint32_t> mine = sorted(world, numbers);

  // Nothing is lost, and no number is in the part of another rank.
  const auto ranks = static_cast<std::uint64_t>(world.size());
  bool right = std::ranges::all_of(mine, [&](std::uint64_t number) {
    return (number * ranks) >> 32 == static_cast<std::uint64_t>(world.rank());
  });
  std::uint64_t counts[2] = {mine.size(), 0}, totals[2] = {};
  for (const std::uint32_t number : mine) counts[1] += number;
  for (const std::uint32_t number : numbers) counts[1] -= number;  // modulo 2^64
  world.allreduce(counts, totals, 2, weft::operation(weft::Operator::sum, weft::Type::uint64));
  right = right && totals[0] == ranks * numbers.size() && totals[1] == 0;
  if (world.rank() == 0) {
    std::printf("%llu numbers, %s\n", static_cast<unsigned long long>(totals[0]),
                right ? "sorted" : "WRONG");
  }
  return right ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "sort: %s\n", error.what());
  return 1;
}
