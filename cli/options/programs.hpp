// Programs that the tool starts: found as a shell finds them.
#pragma once

#include <string>
#include <string_view>

namespace weft::cli {

/// The path of a program, looked up on PATH as a shell does. UsageError names the command of the
/// tool and the program.
std::string find_program(std::string_view command, const std::string& name);

}  // namespace weft::cli
