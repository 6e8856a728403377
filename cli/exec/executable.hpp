// Executable: what the head of a program's file says of how it is started.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

struct Executable {
  /// The program and its arguments behind "#!", without env and its options; empty: no script.
  std::vector<std::string> interpreter;
  bool is_elf = false;
  bool is_foreign = false;  ///< Of 32 bits, or for another processor than this tool.
  std::string linker;       ///< The dynamic linker's path; empty: linked statically.
};

/// All false and empty where the file cannot be read.
Executable read_executable(const std::string& path);

/// The words behind "#!" in the first line of a script. Of "env" (with -S, options and assignments)
/// those of the program that it starts.
std::vector<std::string> interpreter_words(const std::string& first_line);

}  // namespace weft::cli
