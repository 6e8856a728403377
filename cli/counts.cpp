#include "cli/counts.hpp"

#include <algorithm>
#include <random>

#include "cli/arguments.hpp"

namespace weft::cli {

namespace {

/// Of the standard library only the engines are the same on every system.
std::uint64_t drawn(int from, int to) {
  std::mt19937_64 engine(static_cast<std::uint64_t>(from) * 1'000'003 +
                         static_cast<std::uint64_t>(to));
  return engine();
}

std::uint64_t count(std::string_view kind, std::uint64_t bytes, int from, int to) {
  const std::uint64_t random = drawn(from, to) % (2 * bytes + 1);
  if (kind == "random") return random;
  if (kind == "equal") return bytes;
  if (kind == "sparse") return drawn(to, from) % 8 == 0 ? random : 0;
  return from == 0 || to == 0 ? bytes : 0;  // skew
}

}  // namespace

void set_counts(plan::Problem& problem, std::string_view counts) {
  parse_choice("--counts", counts, {kCounts.begin(), kCounts.end()});
  const std::uint64_t gap = problem.stride - problem.block_bytes;
  const auto row = [&](int rank, bool sends) {
    std::vector<plan::Block> blocks;
    std::uint64_t offset = 0;
    for (int peer = 0; peer < problem.ranks; ++peer) {
      const bool up = problem.in_place ? rank < peer : sends;  // in place both ways are alike
      const std::uint64_t bytes =
          count(counts, problem.block_bytes, up ? rank : peer, up ? peer : rank);
      blocks.push_back({offset, bytes});
      offset += bytes + gap;
    }
    return blocks;
  };
  problem.sends.clear();
  problem.receives.clear();
  for (int rank = 0; rank < problem.ranks; ++rank) {
    if (!problem.in_place) problem.sends.push_back(row(rank, true));
    problem.receives.push_back(row(rank, false));
  }
}

}  // namespace weft::cli
