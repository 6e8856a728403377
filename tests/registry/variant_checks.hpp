// Checks of all variants of a collective, shared by the tests of alltoall, gather and reduce.
#pragma once

#include <array>
#include <set>
#include <span>
#include <string>

#include "registry/variants.hpp"
#include "tests/registry/support.hpp"

namespace weft::registry {

inline constexpr std::array kSmallPlacements = {
    "1x1", "1x2", "2x1",   "1x3",         "3x1",         "2x2",        "2x2:cyclic",
    "1+3", "3+1", "1+3+4", "4+1+2",       "0,1,1,0",     "5x1",        "1x5",
    "3x3", "2x8", "7x2",   "0,1,2,0,1,0", "1,0,0,1,0,2", "4x4:cyclic", "13x1"};

/// Of the first algorithm whose plans are wrong; empty when there is none.
inline std::string flaws_of_any(std::span<const Algorithm> algorithms, const plan::Problem& problem,
                                const hierarchy::Machine& machine) {
  for (const Algorithm& algorithm : algorithms) {
    std::string flaws = flaws_of(algorithm, problem, machine);
    if (!flaws.empty()) return flaws;
  }
  return {};
}

/// Names that two variants have, or that do not give their variant back when parsed.
inline std::set<std::string> wrong_names(plan::Collective collective, int ranks) {
  std::set<std::string> seen, wrong;
  for (const Algorithm& algorithm : variants(collective, ranks)) {
    const std::string name = algorithm.name();
    if (!seen.insert(name).second || Algorithm::parse(collective, name) != algorithm) {
      wrong.insert(name);
    }
  }
  return wrong;
}

/// The algorithms whose plans differ when they, and the machine, are made anew from their texts.
inline std::set<std::string> that_differ_anew(std::span<const Algorithm> algorithms,
                                              const plan::Problem& problem,
                                              const hierarchy::Machine& machine) {
  std::set<std::string> different;
  const auto copy = hierarchy::Machine::parse(to_string(machine));
  for (const Algorithm& algorithm : algorithms) {
    if (algorithm.refusal(problem, machine)) continue;
    const auto anew = Algorithm::parse(problem.collective, algorithm.name());
    if (plans_of(algorithm, problem, machine) != plans_of(anew, problem, copy)) {
      different.insert(algorithm.name());
    }
  }
  return different;
}

}  // namespace weft::registry
