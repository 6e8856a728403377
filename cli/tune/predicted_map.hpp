// Predicted map: the winners on smaller machines than the one that is tuned.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cli/tune/tuning_page.hpp"
#include "plan/problem.hpp"
#include "sim/hardware.hpp"
#include "tune/facts.hpp"

namespace weft::cli {

/// Rows of a map, the fewest ranks first: half as many nodes, and so on down to two; of one node
/// half as many ranks. None for machines whose nodes are not alike. Simulated, and searched by
/// scanning(). `problem` is that of a size on the machine of `facts`.
std::vector<MapRow> predicted_rows(
    const tune::Facts& facts, const sim::Hardware& hardware, std::span<const std::uint64_t> sizes,
    std::uint64_t least_segment, const std::function<plan::Problem(std::uint64_t bytes)>& problem);

}  // namespace weft::cli
