// How a set of plans groups what it reduces.
#pragma once

#include <cstdint>
#include <span>

#include "plan/plan.hpp"
#include "plan/problem.hpp"

namespace weft::plan {

/// A number that tells how the bytes of all outputs are grouped: equal for two sets of plans of one
/// problem exactly when (but for collisions of 64 bits) both give the same bits whatever the inputs
/// and the operation. So it is the same for every placement where results do not depend on it.
/// UsageError where the plans are not one a rank, do not match or wait in a circle.
std::uint64_t grouping_digest(const Problem& problem, std::span<const int> node_of_rank,
                              std::span<const Plan> plans);

}  // namespace weft::plan
