// Helpers of the tests of the movers of data.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "registry/all_algorithms.hpp"
#include "registry/variants.hpp"
#include "tests/hierarchy/any_machine.hpp"
#include "tests/registry/support.hpp"

namespace weft::gather {

using hierarchy::any_machine;
using hierarchy::Machine;
using plan::Collective;
using registry::Algorithm;
using registry::error_of;
using registry::flaws_of;
using registry::plans_of;
using registry::variants;

/// Blocks of all sizes, none among them, in any order and with gaps.
inline std::vector<plan::Block> any_layout(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  const auto sizes =
      *rc::gen::container<std::vector<int>>(count, rc::gen::element(0, 1, 3, 8, 8, 8, 40, 100));
  const auto gaps = *rc::gen::container<std::vector<int>>(count, rc::gen::element(0, 0, 0, 5));
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  if (*rc::gen::arbitrary<bool>().as("blocks in reverse")) std::ranges::reverse(order);
  std::vector<plan::Block> layout(count);
  std::uint64_t offset = 0;
  for (const int rank : order) {
    const auto bytes = static_cast<std::uint64_t>(sizes[rank]);
    layout[rank] = {offset, bytes};
    offset += bytes + static_cast<std::uint64_t>(gaps[rank]);
  }
  return layout;
}

inline plan::Problem any_problem(Collective collective, int ranks) {
  plan::Problem problem{collective, ranks};
  if (collective == Collective::barrier) return problem;
  problem.block_bytes = *rc::gen::element<std::uint64_t>(8, 1, 0, 7, 64, 100).as("block_bytes");
  problem.stride = problem.block_bytes + *rc::gen::element<std::uint64_t>(0, 0, 1, 64).as("gap");
  if (plan::is_rooted(collective)) problem.root = *rc::gen::inRange(0, ranks).as("root");
  if (collective != Collective::broadcast && *rc::gen::arbitrary<bool>().as("irregular")) {
    problem.layout = any_layout(ranks);
  }
  return problem;
}

inline constexpr std::array kCollectives = {Collective::broadcast, Collective::scatter,
                                            Collective::gather, Collective::allgather,
                                            Collective::barrier};
/// Short, so that small blocks have several.
inline constexpr std::uint64_t kSegment = 24;

}  // namespace weft::gather
