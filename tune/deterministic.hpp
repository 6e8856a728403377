// Reductions whose bits must not depend on where the ranks are.
#pragma once

#include <optional>

#include "tune/algorithm.hpp"

namespace weft::tune {

/// The one algorithm for a reduction that must group its operands alike on every placement. It
/// follows from the problem alone: algorithms that each group alike everywhere do not group like
/// one another, so a choice by machine or adapter would make the bits depend on them. Nothing where
/// placements may differ, or cannot tell.
std::optional<Algorithm> deterministic_algorithm(const plan::Problem& problem, const Facts& facts);

}  // namespace weft::tune
