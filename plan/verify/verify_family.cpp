#include "plan/verify/verify_family.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "plan/verify/symbolic_run.hpp"

namespace weft::plan {

namespace {

std::vector<Plan> plans_at(std::span<const Family> families, const Extent& extent) {
  std::vector<Plan> plans;
  for (const Family& family : families) plans.push_back(family.at(extent));
  return plans;
}

/// An end of a block that an op touches, at the two ends of the range.
using Place = std::pair<std::uint64_t, std::uint64_t>;

/// Finds a memory in which ends of accesses change places between the two members.
void check_order(std::span<const Plan> low, std::span<const Plan> high, Findings& findings) {
  std::map<std::pair<Space, int>, std::vector<Place>> memories;
  const auto note = [&](const Slice& one, const Slice& other) {
    if (one.space == Space::input) return;  // nobody writes there
    auto& memory = memories[{one.space, one.owner}];
    for (std::uint64_t i = 0; i < one.count; ++i) {
      const Place begin{one.offset + i * one.stride, other.offset + i * other.stride};
      memory.push_back(begin);
      memory.emplace_back(begin.first + one.block_bytes, begin.second + other.block_bytes);
    }
  };
  for (std::size_t rank = 0; rank < low.size(); ++rank) {
    for (OpId id = 0; id < low[rank].ops().size(); ++id) {
      note(low[rank].ops()[id].dst, high[rank].ops()[id].dst);
      note(low[rank].ops()[id].src, high[rank].ops()[id].src);
    }
  }
  for (auto& [space, places] : memories) {
    std::ranges::sort(places);
    if (std::ranges::is_sorted(places, {}, &Place::second)) continue;
    findings.add(Flaw::order, space.second, kNoOp,
                 fmt::format("accesses to its {} are in another order for longer tails",
                             to_string(space.first)));
  }
}

/// What a symbolic run finds, step by step.
std::vector<ExpressionId> steps_of(const Problem& problem, std::span<const Plan> plans) {
  const OpTable ops(plans);
  const Matching matching = match(ops);
  const EventGraph graph(ops, matching);
  Findings findings(1);
  std::vector<ExpressionId> steps;
  SymbolicRun run(problem, ops, matching, findings, &steps);
  run.run(graph);
  for (int rank = 0; rank < ops.ranks(); ++rank) {
    for (const auto& segment : run.memory(Space::output, rank).segments()) {
      steps.push_back(segment.piece.expression);
    }
  }
  return steps;
}

}  // namespace

std::vector<Finding> verify_family(const std::function<Problem(const Extent&)>& problem_of,
                                   int units, std::span<const int> node_of_rank,
                                   std::span<const Family> families, const VerifyOptions& options) {
  const std::uint64_t element = problem_of({1, 0}).element_bytes;
  const std::uint64_t unit = kMostElementsOfUnit * element;
  const auto verify_at = [&](const Extent& extent) {
    return verify(problem_of(extent), node_of_rank, plans_at(families, extent), options);
  };
  if (auto flaws = verify_at({unit, 0}); !flaws.empty() || units == 1) return flaws;
  const Extent ends[] = {{unit, element}, {unit, unit - element}};
  for (const Extent& end : ends) {
    if (auto flaws = verify_at(end); !flaws.empty()) return flaws;
  }
  const auto low = plans_at(families, ends[0]);
  const auto high = plans_at(families, ends[1]);
  Findings findings(options.limit);
  check_order(low, high, findings);
  if (problem_of(ends[0]).collective != Collective::barrier &&
      steps_of(problem_of(ends[0]), low) != steps_of(problem_of(ends[1]), high)) {
    findings.add(Flaw::order, -1, kNoOp,
                 fmt::format("data are cut into other pieces for tails of {} bytes and of {}",
                             ends[0].tail, ends[1].tail));
  }
  return std::move(findings).take();
}

}  // namespace weft::plan
