// Held out: how a table does at sizes that its tuning did not see.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tune/decision_table.hpp"
#include "tune/experiments/experiment.hpp"
#include "tune/facts.hpp"

namespace weft::tune {

/// Seconds of one run at each size: by the table, and by the best of an exhaustive search.
struct HeldOut {
  std::vector<std::uint64_t> sizes;
  std::vector<double> table, best;
};

/// At held_out_sizes() of `points`, of problems like `like`. Where an
/// algorithm of the table may not run, weft's fixed rules choose, as for a program.
HeldOut hold_out(std::span<const Point> points, const DecisionTable& table,
                 const plan::Problem& like, const Facts& facts, const Measure& measure);

/// Seconds of one run at each of `points` by weft's fixed rules: without a table and a profile.
std::vector<double> by_fixed_rules(std::span<const Point> points, const plan::Problem& like,
                                   const Facts& facts, const Measure& measure);

}  // namespace weft::tune
