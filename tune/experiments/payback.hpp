// Payback: what a tuning is worth. Regret at sizes that it did not see, and calls until it has
// paid.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tune/experiments/experiment.hpp"

namespace weft::tune {

/// Two sizes between each two neighbours of `points`, which ascend, at odd eighths of the way by
/// ratio: where a tuning that took those, and looked for borders half-way, has not looked. Whole
/// elements, each once; fewer between sizes that have no such numbers between them.
std::vector<std::uint64_t> held_out_sizes(std::span<const Point> points,
                                          std::uint64_t element_bytes);

/// How much longer each of `times` takes than the best: 0.05 is 5 %.
std::vector<double> regrets(std::span<const double> times, std::span<const double> best);

/// The value below which a part of all lies, one of them: the median of part 0.5. Not of nothing.
double quantile(std::vector<double> values, double part);

/// Calls until the seconds that a tuning took are saved: the mean over as many calls of each size,
/// which took `before` and take `after`. Nullopt where nothing is saved.
std::optional<double> break_even_calls(double seconds, std::span<const double> before,
                                       std::span<const double> after);

}  // namespace weft::tune
