// Plans in their text form, from files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace weft::cli {

/// The plans in `text`, one behind the other, each from its line "weft-plan" on. UsageError names
/// `source`, the line in it and what is wrong.
std::vector<plan::Plan> parse_plans(std::string_view source, std::string_view text);

/// The plans in the files of `paths`, by rank. "-" is standard input, a directory all the files in
/// it. UsageError as above, and for what cannot be read.
std::vector<plan::Plan> read_plans(const std::vector<std::string>& paths);

}  // namespace weft::cli
