// Grid reduction: fewer sizes are searched, and those between them interpolated (Vadhiyar, Fagg and
// Dongarra 2004, section 3.1, the first of their reductions).
#pragma once

#include <functional>
#include <vector>

#include "tune/experiments/experiment.hpp"

namespace weft::tune {

/// Finds the fastest at one point.
using Search = std::function<Found(const Point&, Laboratory&)>;

/// The fastest at each of `points`, of one collective and ascending in bytes. Every `step`-th and
/// the last are searched. Between two of them the winner is that of both; where theirs differ, each
/// is measured at the other's size as well, and the one whose time, interpolated on logarithmic
/// scales, is less is taken. A method that is not among those of a size is not taken there: that
/// size is searched. Times of sizes between are interpolated.
std::vector<Found> reduce_grid(const std::vector<Point>& points, int step, const Search& search,
                               Laboratory& laboratory);

/// The most bytes that are nearer, by ratio, to the first of two sizes.
std::uint64_t half_way(std::uint64_t bytes, std::uint64_t next);

}  // namespace weft::tune
