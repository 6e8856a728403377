// Plans of an algorithm, for tests.
#pragma once

#include <vector>

#include "registry/algorithm.hpp"

namespace weft::registry {

/// The plans of all ranks.
inline std::vector<plan::Plan> plans_of(const Algorithm& algorithm, const plan::Problem& problem,
                                        const hierarchy::Machine& machine) {
  std::vector<plan::Plan> plans;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    plans.push_back(algorithm.plan(problem, machine, rank));
  }
  return plans;
}

/// The plan of each rank when it is asked for (sim::PlanSource). The machine must live longer.
inline auto plan_source(std::string_view name, const plan::Problem& problem,
                        const hierarchy::Machine& machine) {
  return [algorithm = Algorithm::parse(problem.collective, name), problem, &machine](int rank) {
    return algorithm.plan(problem, machine, rank);
  };
}

}  // namespace weft::registry
