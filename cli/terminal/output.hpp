// Standard output, and words and numbers for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/terminal/json.hpp"

namespace weft::cli {

/// Written at once, and flushed: SystemError when it cannot be written (a full disk).
void print(std::string_view text);

/// Indented, with a newline at its end. What is not UTF-8 is replaced.
void print_json(const Json& json);

/// "1 rank", "12 ranks".
std::string counted(std::uint64_t number, std::string_view one);

/// `argument` as a POSIX shell reads it back: quoted where it must be.
std::string shell_word(std::string_view argument);

}  // namespace weft::cli
