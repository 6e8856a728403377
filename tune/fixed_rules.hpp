// Fixed rules: the choice of an algorithm by size alone, without a profile of the adapter.
#pragma once

#include <optional>

#include "plan/problem.hpp"
#include "tune/facts.hpp"

namespace weft::tune {

/// The first algorithm of a short list, by collective and size, that may run. There always is one.
Algorithm choose_by_rules(const plan::Problem& problem, const Facts& facts);

/// The only algorithm for a reduction that must group its operands alike on every placement. It
/// follows from the problem alone: algorithms that each group alike everywhere do not group like
/// one another, so a choice by machine or adapter would make the bits depend on them. Nothing where
/// bits may depend on the placement, or cannot.
std::optional<Algorithm> deterministic_choice(const plan::Problem& problem, const Facts& facts);

}  // namespace weft::tune
