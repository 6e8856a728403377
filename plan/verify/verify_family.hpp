// Verifier of families: proves that the plans of all sizes of a family solve their problems.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plan/family.hpp"
#include "plan/verify/verify.hpp"

namespace weft::plan {

/// Units have up to so many elements in what is proved.
inline constexpr std::uint64_t kMostElementsOfUnit = 1ull << 32;

/// Empty when the members of the families, one a rank, solve `problem_of(extent)` for every extent
/// of whole elements. `units` are those of a block.
///
/// Members whose tails are in proportion to their units differ in scale alone, which no check of
/// the verifier sees. So one number tells members apart, the ratio of the two: 0, or from 1 / n to
/// 1 - 1 / n for units of up to n elements. The members at both ends of that, and at 0, are
/// verified one by one. Between the ends all numbers move on lines. Equal numbers at both ends are
/// equal between, and so are bounds kept. What is left are decisions by order: which accesses
/// overlap, and where pieces of data are cut. Ends of all accesses to a memory are in the same
/// order at both ends of the range, so between, too, and no others overlap there (races). A
/// symbolic run finds the same pieces of the same expressions in every read, reduction and result
/// at both ends: each comparison that it makes has the same outcome at both, so on the line
/// between, and by induction from step to step the run between makes the same steps (delivery).
std::vector<Finding> verify_family(const std::function<Problem(const Extent&)>& problem_of,
                                   int units, std::span<const int> node_of_rank,
                                   std::span<const Family> families,
                                   const VerifyOptions& options = {});

}  // namespace weft::plan
