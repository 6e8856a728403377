#include "cli/stuck/stacks.hpp"

#include <fmt/format.h>

#include <chrono>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/options/programs.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kMostBytes = 32 << 10;
constexpr std::size_t kMostLines = 24;
constexpr std::chrono::seconds kPatience{5};

std::string said_by(std::vector<std::string> words) {
  std::string text = run_program(std::move(words), {}, kPatience).out;
  if (text.size() > kMostBytes) text.resize(kMostBytes);
  return text;
}

}  // namespace

StackReader find_stack_reader() {
  if (std::string path = look_up_program("eu-stack"); !path.empty()) {
    return {StackReader::Kind::eu_stack, std::move(path)};
  }
  if (std::string path = look_up_program("gdb"); !path.empty()) {
    return {StackReader::Kind::gdb, std::move(path)};
  }
  return {};
}

std::string read_stack(const StackReader& reader, pid_t process) {
  const std::string number = fmt::format("{}", process);
  switch (reader.kind) {
    case StackReader::Kind::eu_stack:
      return said_by({reader.path, "-p", number});
    case StackReader::Kind::gdb:
      return said_by(
          {reader.path, "-p", number, "-batch", "-nx", "-ex", "thread apply all backtrace 16"});
    case StackReader::Kind::none:
      break;
  }
  return {};
}

std::string stack_lines(const StackReader& reader, pid_t process) {
  std::istringstream lines(read_stack(reader, process));
  std::string text;
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#")) continue;
    if (count++ == kMostLines) break;
    text += fmt::format("weft:       {}\n", line);
  }
  return text;
}

}  // namespace weft::cli
