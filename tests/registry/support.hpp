// Shared by the tests of alltoall, gather and reduce: errors, and flaws of plans.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/text.hpp"
#include "plan/verify/verify.hpp"
#include "tests/registry/plans.hpp"

namespace weft::registry {

/// The text of the UsageError that `action` throws.
std::string error_of(const auto& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

inline std::string describe(const plan::Problem& problem) {
  std::string text =
      fmt::format("blocks of {} bytes, {} apart", problem.block_bytes, problem.stride);
  if (!problem.layout.empty()) text += ", irregular";
  if (is_rooted(problem.collective)) text += fmt::format(", root {}", problem.root);
  if (is_reduction(problem.collective)) {
    text += fmt::format(", elements of {}, {}commutative", problem.element_bytes,
                        problem.commutative ? "" : "not ");
  }
  return text;
}

/// Empty when the plans are right, or refused; else what is wrong, and where.
inline std::string flaws_of(const Algorithm& algorithm, const plan::Problem& problem,
                            const hierarchy::Machine& machine) {
  if (algorithm.refusal(problem, machine)) return {};
  const auto plans = plans_of(algorithm, problem, machine);
  const auto findings = plan::verify(problem, machine.node_of_rank(), plans);
  if (findings.empty()) return {};
  std::string text = fmt::format("{} {} on {}, {}:\n", to_string(problem.collective),
                                 algorithm.name(), to_string(machine), describe(problem));
  for (const auto& finding : findings) text += to_string(finding) + "\n";
  const int rank = std::max(0, findings.front().rank);
  if (static_cast<std::size_t>(rank) < plans.size()) text += plan::to_text(plans[rank]);
  return text;
}

}  // namespace weft::registry
