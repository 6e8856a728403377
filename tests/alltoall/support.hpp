// What the tests of the alltoall algorithms share.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "alltoall/registry.hpp"
#include "plan/text.hpp"
#include "plan/verify/verify.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::alltoall {

using hierarchy::any_machine;

inline plan::Problem any_problem(int ranks) {
  plan::Problem problem = plan::Problem::alltoall(
      ranks, *rc::gen::element<std::uint64_t>(0, 1, 7, 8, 64, 100).as("block_bytes"));
  problem.stride += *rc::gen::element<std::uint64_t>(0, 0, 1, 64).as("gap");
  return problem;
}

inline std::vector<plan::Plan> plans_of(const Algorithm& algorithm, const plan::Problem& problem,
                                        const hierarchy::Machine& machine) {
  std::vector<plan::Plan> plans;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    plans.push_back(algorithm.plan(problem, machine, rank));
  }
  return plans;
}

/// Empty when the plans are right; else what is wrong, and where.
inline std::string flaws_of(const Algorithm& algorithm, const plan::Problem& problem,
                            const hierarchy::Machine& machine) {
  const auto plans = plans_of(algorithm, problem, machine);
  const auto findings = plan::verify(problem, machine.node_of_rank(), plans);
  if (findings.empty()) return {};
  std::string text = algorithm.name() + " on " + to_string(machine) + " with blocks of " +
                     std::to_string(problem.block_bytes) + " bytes, " +
                     std::to_string(problem.stride) + " apart:\n";
  for (const auto& finding : findings) text += to_string(finding) + "\n";
  const int rank = std::max(0, findings.front().rank);
  if (static_cast<std::size_t>(rank) < plans.size()) text += plan::to_text(plans[rank]);
  return text;
}

}  // namespace weft::alltoall
