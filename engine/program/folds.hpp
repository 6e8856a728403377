// Folds: reductions of several sources into one destination that are done in one pass.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/plan.hpp"

namespace weft::engine {

/// Ops of a plan that follow one another into one destination,
///   dst = a;  dst = dst op b;  dst = dst op c;  ..
/// in list order; the first may also be a reduction into what is there already. Done together when
/// the last of them is due, they read each source once and write the destination once. All ops that
/// depend on one of them come after the last one in the list, so they can depend on that instead.
using Fold = std::vector<plan::OpId>;

/// Shorter results stay in the nearest cache anyway.
inline constexpr std::uint64_t kLeastFolded = 4 << 10;

/// Folds of at least two ops, over memory without gaps that is long enough for a fold to be faster:
/// of kLeastFolded bytes, or as `is_long` says of an op.
std::vector<Fold> find_folds(const plan::Plan& plan,
                             const std::function<bool(plan::OpId)>& is_long = {});

}  // namespace weft::engine
