#include "cli/terminal/output.hpp"

#include <cstdio>
#include <ctime>

#include <fmt/format.h>

#include "base/error.hpp"

namespace weft::cli {

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw_errno("write(standard output)");
  }
}

void OutputFile::open() {
  if (!path_) return;
  file_.open(*path_, std::ios::binary | std::ios::trunc);
  if (!file_) throw_errno("open(" + *path_ + ")");
}

void OutputFile::write(const std::string& text) {
  if (!path_) return;
  file_ << text << std::flush;
  if (!file_) throw_errno("write(" + *path_ + ")");
}

void print_json(const Json& json) {
  print(json.text() + "\n");
}

std::string counted(std::uint64_t number, std::string_view singular) {
  return fmt::format("{} {}{}", number, singular, number == 1 ? "" : "s");
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string shell_word(std::string_view argument) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == argument.npos) {
    return std::string(argument);
  }
  std::string word = "'";
  for (const char c : argument) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace weft::cli
