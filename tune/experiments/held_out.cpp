#include "tune/experiments/held_out.hpp"

#include <algorithm>

#include "tune/experiments/payback.hpp"
#include "tune/experiments/searches.hpp"
#include "tune/experiments/simulated.hpp"
#include "tune/fixed_rules.hpp"

namespace weft::tune {

HeldOut hold_out(std::span<const Point> points, const DecisionTable& table,
                 const plan::Problem& like, const Facts& facts, const Measure& measure) {
  HeldOut result{held_out_sizes(points, like.element_bytes), {}, {}};
  for (const std::uint64_t bytes : result.sizes) {
    const plan::Problem problem = resized(like, bytes);
    Laboratory laboratory(measure);
    Point point = point_of(problem, facts, points.front().least_segment);
    point.bytes = bytes;
    const Rule* rule = table.find(like.collective, bytes);
    Algorithm chosen = Algorithm::parse(like.collective, rule->algorithm);
    if (!may_run(chosen, problem, facts)) chosen = choose_by_rules(problem, facts);
    const double seconds = laboratory.time(experiment_of(problem.collective, bytes, chosen));
    result.table.push_back(seconds);
    // What the search does not try may be faster.
    result.best.push_back(std::min(seconds, exhaustive(point, laboratory).seconds));
  }
  return result;
}

std::vector<double> by_fixed_rules(std::span<const Point> points, const plan::Problem& like,
                                   const Facts& facts, const Measure& measure) {
  std::vector<double> times;
  for (const Point& point : points) {
    const plan::Problem problem = resized(like, point.bytes);
    times.push_back(
        measure(experiment_of(problem.collective, point.bytes, choose_by_rules(problem, facts))));
  }
  return times;
}

}  // namespace weft::tune
