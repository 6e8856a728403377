// What the tests of this room share.
#pragma once

#include <rapidcheck.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "gather/registry.hpp"
#include "plan/problem.hpp"
#include "plan/text.hpp"
#include "plan/verify/verify.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::gather {

using hierarchy::any_machine;
using hierarchy::Machine;
using plan::Collective;

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

inline std::vector<plan::Plan> plans_of(const Algorithm& algorithm, const plan::Problem& problem,
                                        const Machine& machine) {
  std::vector<plan::Plan> plans;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    plans.push_back(algorithm.plan(problem, machine, rank));
  }
  return plans;
}

/// Empty when the plans are right; else what is wrong, and where.
inline std::string flaws_of(const Algorithm& algorithm, const plan::Problem& problem,
                            const Machine& machine) {
  const auto plans = plans_of(algorithm, problem, machine);
  const auto findings = plan::verify(problem, machine.node_of_rank(), plans);
  if (findings.empty()) return {};
  std::string text = fmt::format("{} {} on {}, root {}, blocks of {} bytes, {} apart, {}:\n",
                                 to_string(problem.collective), algorithm.name(),
                                 to_string(machine), problem.root, problem.block_bytes,
                                 problem.stride, problem.layout.empty() ? "regular" : "irregular");
  for (const auto& finding : findings) text += to_string(finding) + "\n";
  const int rank = std::max(0, findings.front().rank);
  if (static_cast<std::size_t>(rank) < plans.size()) text += plan::to_text(plans[rank]);
  return text;
}

inline constexpr std::array kCollectives = {Collective::broadcast, Collective::scatter,
                                            Collective::gather, Collective::allgather,
                                            Collective::barrier};
/// Short, so that small blocks have several.
inline constexpr std::uint64_t kSegment = 24;

}  // namespace weft::gather
