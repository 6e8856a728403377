// Borders: where, between two tuned sizes with different winners, the one gives way to the other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tune/decision_table.hpp"
#include "tune/experiments/experiment.hpp"

namespace weft::tune {

/// When a border is near enough.
struct Bordering {
  double factor = 1.2;    ///< between the sizes on its two sides
  double regret = 0.025;  ///< the part by which either winner is slower on the other's side
};

/// The point of a size between those that were tuned; its bytes may be fewer.
using PointAt = std::function<Point(std::uint64_t bytes)>;

/// The rules of a decision table: what was found at each of `points`, which ascend. Between
/// neighbours whose winners differ both are measured half-way, by ratio, again and again until the
/// border is near enough; there it lies where their times, interpolated, cross. Where neither gains
/// it is half-way. A winner that cannot run at a size loses there. Neighbours with the same
/// algorithm are one rule; the last is for any size.
std::vector<Rule> rules_of(const std::vector<Point>& points, const std::vector<Found>& found,
                           const PointAt& at, Laboratory& laboratory, const Bordering& how = {});

}  // namespace weft::tune
