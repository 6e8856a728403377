#include "cli/options/arguments.hpp"

#include <algorithm>

#include "base/env.hpp"
#include "base/error.hpp"

namespace weft::cli {

const std::string& required(const Text& text, std::string_view what) {
  if (!text) throw_usage("{} is missing", what);
  return *text;
}

Range parse_range(std::string_view option, std::string_view text, int low, int high) {
  const auto dots = text.find("..");
  try {
    const auto number = [&](std::string_view digits) {
      return static_cast<int>(env::parse_integer(option, digits, low, high));
    };
    const Range range{number(text.substr(0, dots)),
                      number(dots == text.npos ? text : text.substr(dots + 2))};
    if (range.first <= range.last) return range;
  } catch (const UsageError&) {
    // The message below says more.
  }
  throw_usage("{}={}: not a number or a range A..B with A <= B, from {} to {}", option, text, low,
              high);
}

std::vector<std::uint64_t> parse_sizes(std::string_view option, std::string_view text,
                                       std::uint64_t low, std::uint64_t high) {
  std::vector<std::uint64_t> sizes;
  try {
    for (std::string_view rest = text;;) {
      const auto comma = rest.find(',');
      const std::string_view word = rest.substr(0, comma);
      const auto dots = word.find("..");
      sizes.push_back(env::parse_bytes(option, word.substr(0, dots), low, high));
      if (dots != word.npos) {
        const std::uint64_t last = env::parse_bytes(option, word.substr(dots + 2), low, high);
        if (sizes.back() == 0 || sizes.back() > last) throw_usage("not ascending");
        while (sizes.back() <= last / 2) sizes.push_back(2 * sizes.back());
      }
      if (comma == rest.npos) return sizes;
      rest.remove_prefix(comma + 1);
    }
  } catch (const UsageError&) {
    throw_usage(
        "{}={}: not sizes from {} to {} bytes joined by commas (K, M, G, T, P and E are powers "
        "of 1024; 8..1K: each twice the one before)",
        option, text, low, high);
  }
}

std::size_t parse_choice(std::string_view option, std::string_view text,
                         const std::vector<std::string_view>& allowed) {
  const auto found = std::ranges::find(allowed, text);
  if (found == allowed.end()) {
    throw_usage("{}={}: not one of {}", option, text, fmt::join(allowed, ", "));
  }
  return static_cast<std::size_t>(found - allowed.begin());
}

}  // namespace weft::cli
