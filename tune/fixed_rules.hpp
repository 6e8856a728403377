// Fixed rules: the choice of an algorithm by size alone, without a profile of the adapter.
#pragma once

#include <optional>

#include "plan/problem.hpp"
#include "tune/facts.hpp"

namespace weft::tune {

/// The first algorithm that may run, of a short list by collective and size. There always is one.
Algorithm choose_by_rules(const plan::Problem& problem, const Facts& facts);

/// The algorithm for a reduction that must group its operands alike on every placement. It follows
/// from the problem alone: two such algorithms group differently from each other, so a choice by
/// machine or adapter would make the bits depend on these. nullopt where bits may depend on the
/// placement, or where they cannot, as the operation is associative.
std::optional<Algorithm> deterministic_choice(const plan::Problem& problem, const Facts& facts);

}  // namespace weft::tune
