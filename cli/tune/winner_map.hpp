// Winner map: who is the fastest at which size on which machine, as a drawing: after Rabenseifner,
// "Optimization of Collective Reduction Operations" (2004), figures 3 to 5.
#pragma once

#include <span>
#include <string>

#include "cli/tune/tuning_page.hpp"

namespace weft::cli {

/// One <svg> element: a row for each machine, the one with most ranks at the top, a cell for each
/// size, coloured and numbered by the algorithm, whatever its segment; below it the legend.
std::string to_svg(std::string_view title, std::span<const MapRow> rows);

}  // namespace weft::cli
