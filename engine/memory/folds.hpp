// Reductions that are done in one pass.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace weft::engine {

/// Ops of a plan that follow one another into one destination,
///   dst = a;  dst = dst op b;  dst = dst op c;  ..
/// in list order; the first may also be a reduction, of what is there already. Done at the place of
/// the last of them, they read each source once and write the destination once. Whatever follows
/// one of them can as well follow the last: it comes after that in the list.
using Fold = std::vector<plan::OpId>;

/// Of at least two ops each, and of pieces without gaps that are long enough to be worth it.
std::vector<Fold> find_folds(const plan::Plan& plan);

}  // namespace weft::engine
