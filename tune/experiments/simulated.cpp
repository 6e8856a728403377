#include "tune/experiments/simulated.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include <fmt/format.h>

#include "sim/simulator.hpp"
#include "tune/candidates.hpp"
#include "tune/decision_table.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::tune {

namespace {

constexpr double kNanosecondsASecond = 1e9;
constexpr std::string_view kSegment = "segment=";

double seconds(const plan::Problem& problem, const Algorithm& algorithm, const Facts& facts,
               const sim::Hardware& hardware) {
  const auto plan_of = [&](int rank) { return algorithm.plan(problem, facts.machine, rank); };
  const sim::Hardware counts = counted(problem, facts, hardware);
  return sim::simulate(plan_of, facts.machine, counts).time_ns / kNanosecondsASecond;
}

}  // namespace

Algorithm algorithm_of(const Experiment& experiment) {
  std::string name = experiment.method;
  if (experiment.segment > 0) {
    const char sign = name.find(':') == name.npos ? ':' : ',';
    name += fmt::format("{}segment={}", sign, experiment.segment);
  }
  return Algorithm::parse(experiment.collective, name);
}

std::string method_of(const std::string& name) {
  const auto found = name.find(kSegment);
  if (found == name.npos) return name;
  const auto end = std::min(name.find(',', found), name.size());
  std::string text = name;
  // With the comma behind it, or else the sign before it.
  if (end < name.size()) {
    text.erase(found, end + 1 - found);
  } else {
    text.erase(found - 1);
  }
  return text;
}

Experiment experiment_of(plan::Collective collective, std::uint64_t bytes,
                         const Algorithm& algorithm) {
  const std::string name = algorithm.name();
  const auto found = name.find(kSegment);
  const std::uint64_t segment =
      found == name.npos ? 0 : std::strtoull(name.c_str() + found + kSegment.size(), nullptr, 10);
  return {collective, bytes, method_of(name), segment};
}

Point point_of(const plan::Problem& problem, const Facts& facts, std::uint64_t least_segment) {
  Point point{problem.collective, block_bytes(problem), {}, least_segment};
  point.least_segment = std::max(least_segment, std::bit_ceil(problem.element_bytes));
  for (const Algorithm& one : candidates(problem, facts)) {
    const std::string name = method_of(one.name());
    if (std::ranges::find(point.methods, name, &Method::name) != point.methods.end()) continue;
    point.methods.push_back({name, one.reads(algorithm::Parameter::segment)});
  }
  return point;
}

Measure simulated(const plan::Problem& like, const Facts& facts, const sim::Hardware& hardware) {
  return [&like, facts, &hardware](const Experiment& one) {
    return seconds(resized(like, one.bytes), algorithm_of(one), facts, hardware);
  };
}

Measure simulated_pipeline(const plan::Problem& like, const Facts& facts,
                           const sim::Hardware& hardware) {
  return [&like, facts, &hardware](const Experiment& one) {
    const auto ranks = static_cast<unsigned>(facts.machine.ranks());
    const bool is_chain = algorithm_of(one).base_name() == "chain";
    const int length =
        is_chain ? facts.machine.ranks() : static_cast<int>(std::bit_width(ranks - 1)) + 1;
    const auto machine = hierarchy::Machine::uniform(length, 1);
    plan::Problem problem = resized(like, one.bytes);
    problem.ranks = length;
    problem.root = 0;
    const Experiment chain{one.collective, one.bytes, "chain", one.segment};
    return seconds(problem, algorithm_of(chain), {machine}, hardware);
  };
}

}  // namespace weft::tune
