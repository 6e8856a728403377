// Reading of plans in text form from files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace weft::cli {

/// Parses consecutive plans, each of which begins with a line "weft-plan". UsageError names
/// `source`, the line and what is wrong there.
std::vector<plan::Plan> parse_plans(std::string_view source, std::string_view text);

/// The plans in the files of `paths`, sorted by rank. "-" is standard input, a directory stands for
/// all files in it. UsageError as above, and for files that cannot be read.
std::vector<plan::Plan> read_plans(const std::vector<std::string>& paths);

}  // namespace weft::cli
