// Output of the tool: text and JSON to standard output, and formatting for people.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/terminal/json.hpp"

namespace weft::cli {

/// Writes and flushes. SystemError when standard output cannot be written (a full disk).
void print(std::string_view text);

/// File for a result; without a path nothing is written. Opened before the work, so that a wrong
/// name is reported at once. SystemError when it cannot be written.
class OutputFile {
 public:
  explicit OutputFile(std::optional<std::string> path) : path_(std::move(path)) {}
  void open();
  void write(const std::string& text);

 private:
  std::optional<std::string> path_;
  std::ofstream file_;
};

/// Indented, with a newline at its end. Invalid UTF-8 is replaced.
void print_json(const Json& json);

/// "1 rank", "12 ranks".
std::string counted(std::uint64_t number, std::string_view singular);

/// The date in UTC: "2026-11-25".
std::string today();

/// `argument` as a word for a POSIX shell: quoted where necessary.
std::string shell_word(std::string_view argument);

}  // namespace weft::cli
