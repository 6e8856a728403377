// Helpers of the tests of closed forms.
#pragma once

#include <string_view>

#include "base/cast.hpp"
#include "plan/inspect/cost_sheet.hpp"
#include "tests/alltoall/support.hpp"

namespace weft::alltoall {

inline constexpr std::uint64_t kBlock = 24;

inline std::uint64_t rounded(std::uint64_t bytes) {
  return round_up(bytes, std::uint64_t{64});
}

inline plan::CostSheet sheet_of(std::string_view algorithm, const hierarchy::Machine& machine,
                                std::uint64_t block = kBlock) {
  const auto problem = plan::Problem::alltoall(machine.ranks(), block);
  return plan::cost_sheet(machine.node_of_rank(), plans_of(parse(algorithm), problem, machine));
}

/// R: the ranks of other nodes that a rank represents.
inline std::uint64_t represented(const hierarchy::Machine& machine, int rank) {
  std::uint64_t ranks = 0;
  for (int other = 0; other < machine.ranks(); ++other) {
    if (machine.same_node(rank, other)) continue;
    ranks += machine.place_of(other) % machine.ranks_on_node_of(rank) == machine.place_of(rank);
  }
  return ranks;
}

}  // namespace weft::alltoall
