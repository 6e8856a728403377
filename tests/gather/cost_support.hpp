// Cost sheets of algorithms by name.
#pragma once

#include <bit>

#include "base/cast.hpp"
#include "plan/inspect/cost_sheet.hpp"
#include "tests/gather/support.hpp"

namespace weft::gather {

using plan::Cost;
using plan::CostSheet;

/// A whole number of cache lines, so that stages need no rounding.
inline constexpr std::uint64_t kBlock = 64;

inline CostSheet sheet_of(Collective collective, std::string_view algorithm, const Machine& machine,
                          std::uint64_t block = kBlock, int root = 0) {
  plan::Problem problem{collective, machine.ranks(), block, block, root};
  if (collective == Collective::barrier) problem.block_bytes = problem.stride = 0;
  return plan::cost_sheet(machine.node_of_rank(),
                          plans_of(Algorithm::parse(collective, algorithm), problem, machine));
}

inline std::uint64_t floor_lg(std::uint64_t n) {
  return static_cast<std::uint64_t>(std::bit_width(n)) - 1;
}

/// The rounds after which what grows by the factor `radix` is n.
inline std::uint64_t ceil_log(std::uint64_t n, std::uint64_t radix = 2) {
  std::uint64_t rounds = 0;
  for (std::uint64_t weight = 1; weight < n; weight *= radix) ++rounds;
  return rounds;
}

/// ceil(log_radix n), less the last when none of its blocks has moved before.
inline std::uint64_t bruck_rounds(std::uint64_t n, std::uint64_t radix) {
  const std::uint64_t rounds = ceil_log(n, radix);
  std::uint64_t last = 1;  // weight of the last round
  for (std::uint64_t round = 1; round < rounds; ++round) last *= radix;
  return rounds > 1 && n <= last + last / radix ? rounds - 1 : rounds;
}

/// Messages of a member in rounds of `radix` - 1 digits.
inline std::uint64_t digit_messages(std::uint64_t n, std::uint64_t radix) {
  std::uint64_t messages = 0;
  for (std::uint64_t weight = 1; weight < n; weight *= radix) {
    messages += std::min(radix - 1, (n + weight - 1) / weight - 1);
  }
  return messages;
}

}  // namespace weft::gather
