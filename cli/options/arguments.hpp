// Parsers of option values: numbers, ranges, sizes and choices. All throw UsageError, which names
// the option, its value and what is allowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command.hpp"

namespace weft::cli {

/// The text of a mandatory option; `what` is the subject of "... is missing".
const std::string& required(const Text& text, std::string_view what);

/// "12", or "1..40": both ends included.
struct Range {
  int first = 0;
  int last = 0;
};
Range parse_range(std::string_view option, std::string_view text, int low, int high);

/// "1,8,4K"; "8..1M": 8 and its doubles up to 1M.
std::vector<std::uint64_t> parse_sizes(std::string_view option, std::string_view text,
                                       std::uint64_t low, std::uint64_t high);

/// The position of `text` among `allowed`.
std::size_t parse_choice(std::string_view option, std::string_view text,
                         const std::vector<std::string_view>& allowed);

}  // namespace weft::cli
