// What the tests of the alltoall algorithms share.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "alltoall/registry.hpp"
#include "plan/text.hpp"
#include "plan/verify.hpp"

namespace weft::alltoall {

/// Any placement of 1 to `most_ranks` ranks on up to 10 nodes: in blocks or interleaved.
inline hierarchy::Machine any_machine(int most_ranks = 40) {
  const int ranks = *rc::gen::inRange(1, most_ranks + 1).as("ranks");
  const int most_nodes = *rc::gen::inRange(1, 11).as("nodes at most");
  std::vector<int> nodes = *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(ranks),
                                                                 rc::gen::inRange(0, most_nodes));
  if (*rc::gen::arbitrary<bool>().as("in blocks")) std::ranges::sort(nodes);
  std::vector<int> number(static_cast<std::size_t>(most_nodes), -1);  // closes the gaps
  int seen = 0;
  for (int& node : nodes) {
    if (number[node] < 0) number[node] = seen++;
    node = number[node];
  }
  return hierarchy::Machine(std::move(nodes));
}

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
