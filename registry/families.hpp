// Families of the plans of an algorithm: those of all sizes up to a largest one, with the shape
// that the plan of the largest has.
#pragma once

#include <cstdint>
#include <optional>

#include "hierarchy/machine.hpp"
#include "plan/family.hpp"
#include "plan/layout_family.hpp"
#include "plan/problem.hpp"
#include "registry/algorithm.hpp"

namespace weft::registry {

/// In how many units the blocks of problems of up to `largest` are divided: a number that
/// algorithms mostly cut evenly, from facts that all ranks share. 0: there is no family.
int finest_units(const Algorithm& algorithm, const plan::Problem& largest,
                 const hierarchy::Machine& machine);

/// The plans of `rank` in these units. nullopt where they have not all one shape, which other ranks
/// do not know.
std::optional<plan::Family> family_of(const Algorithm& algorithm, const plan::Problem& largest,
                                      const hierarchy::Machine& machine, int rank);

/// The plans of `rank` for all lists of blocks of up to the size of `largest`, which lie side by
/// side and of which all ranks know all. nullopt where they have not all one shape, which other
/// ranks do not know.
std::optional<plan::LayoutFamily> layout_family_of(const Algorithm& algorithm,
                                                   const plan::Problem& largest,
                                                   const hierarchy::Machine& machine, int rank);

}  // namespace weft::registry
