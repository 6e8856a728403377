#include "registry/families.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/cast.hpp"

namespace weft::registry {

using algorithm::Parameter;
using plan::Collective;
using plan::Problem;

namespace {

// More would make blocks too small for their units, and plans are long enough then.
constexpr std::uint64_t kMostUnits = 4096;
// Elements of sample sizes are of as many bytes as plans round up to.
constexpr std::uint64_t kSampleElement = plan::kSliceAlignment;

}  // namespace

int finest_units(const Algorithm& algorithm, const Problem& largest,
                 const hierarchy::Machine& machine) {
  const bool is_sized = largest.block_bytes > 0 && largest.layout.empty() && !largest.in_place;
  if (!is_sized || largest.collective == Collective::alltoallv) return 0;
  std::uint64_t units = 1;
  const auto divide = [&](int parts) {
    const auto count = static_cast<std::uint64_t>(parts);
    if (units <= kMostUnits) units = std::lcm(units, std::lcm(count, std::bit_floor(count)));
  };
  // Blocks of all ranks are parts enough.
  if (!has_blocks_of_all(largest.collective)) {
    divide(machine.ranks());
    // Of a flat algorithm the same on every placement, as its results are to be.
    for (int node = 0; !algorithm.is_flat() && node < machine.nodes(); ++node) {
      if (node == 0) divide(machine.nodes());
      divide(static_cast<int>(machine.ranks_on(node).size()));
    }
  }
  const std::uint64_t segment = algorithm.parameters().segment;
  if (algorithm.reads(Parameter::segment) && segment > 0 && segment < largest.block_bytes) {
    units = std::lcm(units, std::bit_ceil(ceil_div(largest.block_bytes, segment)));
  }
  return units <= kMostUnits ? static_cast<int>(units) : 0;
}

std::optional<plan::Family> family_of(const Algorithm& algorithm, const Problem& largest,
                                      const hierarchy::Machine& machine, int rank) {
  const int units = finest_units(algorithm, largest, machine);
  if (units == 0) return std::nullopt;
  const std::uint64_t bytes = static_cast<std::uint64_t>(units) * plan::kSampleUnit;
  const Algorithm scaled = algorithm.in_proportion(bytes, largest.block_bytes, plan::kSampleUnit);
  Problem sample = largest;
  sample.element_bytes = is_reduction(largest.collective) ? kSampleElement : 1;
  sample.cut_bytes = plan::kSampleUnit;
  const auto plan_for = [&](std::uint64_t tail) {
    sample.block_bytes = sample.stride = bytes - tail;
    return scaled.plan(sample, machine, rank);
  };
  const plan::Plan first = plan_for(plan::kSampleTails[0]);
  if (auto family = plan::Family::of_whole_blocks(first, units)) return family;
  return plan::Family::of(first, plan_for(plan::kSampleTails[1]));
}

std::optional<plan::LayoutFamily> layout_family_of(const Algorithm& algorithm,
                                                   const Problem& largest,
                                                   const hierarchy::Machine& machine, int rank) {
  const bool has_lists = largest.collective == Collective::allgather ||
                         largest.collective == Collective::reduce_scatter;
  if (!has_lists || machine.ranks() > plan::kMostLaidOut) return std::nullopt;
  // Whatever is cut, or not, by the size of a block is so for all lists alike.
  const Algorithm scaled =
      algorithm.in_proportion(plan::kSampleBlock, largest.block_bytes, plan::kSliceAlignment);
  Problem problems[2] = {largest, largest};
  plan::Plan plans[2];
  for (int which = 0; which < 2; ++which) {
    problems[which].block_bytes = problems[which].stride = 0;
    if (is_reduction(largest.collective)) problems[which].element_bytes = kSampleElement;
    problems[which].layout = plan::sample_layout(machine.ranks(), which);
    plans[which] = scaled.plan(problems[which], machine, rank);
  }
  return plan::LayoutFamily::of(problems[0], plans[0], problems[1], plans[1]);
}

Algorithm Algorithm::in_proportion(std::uint64_t to, std::uint64_t from, std::uint64_t unit) const {
  // Roughly is enough, as long as it is the same on all ranks.
  const auto scaled = [&](std::uint64_t bytes, std::uint64_t multiple) {
    const double multiples = static_cast<double>(bytes) * static_cast<double>(to) /
                             static_cast<double>(from) / static_cast<double>(multiple);
    return static_cast<std::uint64_t>(std::max(1.0, std::round(multiples))) * multiple;
  };
  Algorithm result = *this;
  Parameters& parameters = result.parameters_;
  if (parameters.segment != 0) {
    parameters.segment = parameters.segment >= from ? 0 : scaled(parameters.segment, unit);
  }
  parameters.aggregate =
      parameters.aggregate >= from ? Parameters::kEverything : scaled(parameters.aggregate, 1);
  if (parameters.latency != 0) parameters.latency = scaled(parameters.latency, 1);
  return result;
}

}  // namespace weft::registry
