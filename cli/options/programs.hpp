// Programs that the tool starts: found as a shell finds them, and run to their end.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

/// A file that may be executed; folders may be, too, and are none.
bool is_program(const std::string& path);

/// The path of a program that PATH has, as a shell finds it; empty where there is none.
std::string look_up_program(const std::string& name);

/// The path of a program, looked up on PATH as a shell does. UsageError names the command of the
/// tool and the program.
std::string find_program(std::string_view command, const std::string& name);

/// How a program has ended, and what it has printed.
struct Ran {
  int code = -1;    ///< Exit code; -1: not started, ended by a signal, or stopped for its time.
  std::string out;  ///< Standard output.
  std::string err;  ///< Standard error.
};

/// Runs a program, `words[0]` its path, without input and for as long as `patience` at most: it is
/// killed then, and what it has printed is what there is. Its environment is the tool's, but for
/// LD_PRELOAD: that is `preload`, or not set where it is empty.
Ran run_program(std::vector<std::string> words, const std::string& preload = {},
                std::chrono::seconds patience = std::chrono::seconds(30));

}  // namespace weft::cli
