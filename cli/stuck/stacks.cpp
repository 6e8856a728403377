#include "cli/stuck/stacks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/file.hpp"

namespace weft::cli {

namespace {

constexpr std::size_t kMostBytes = 32 << 10;
constexpr std::size_t kMostLines = 24;
constexpr std::chrono::seconds kPatience{5};

std::string along_path(const char* program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = fmt::format("{}/{}", folder, program);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

/// Reads until the end, or until the time is over.
std::string read_all(int pipe) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + kPatience;
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < kMostBytes) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd ready{pipe, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) break;
    const ssize_t bytes = ::read(pipe, piece.data(), piece.size());
    if (bytes <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(bytes));
  }
  return text;
}

std::string said_by(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const File reads(ends[0]);
  File writes(ends[1]);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writes.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int refused =
      ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  writes.reset();
  if (refused != 0) return {};
  std::string text = read_all(reads.get());
  ::kill(child, SIGKILL);  // it has ended, or takes too long
  ::waitpid(child, nullptr, 0);
  return text;
}

}  // namespace

StackReader find_stack_reader() {
  if (std::string path = along_path("eu-stack"); !path.empty()) {
    return {StackReader::Kind::eu_stack, std::move(path)};
  }
  if (std::string path = along_path("gdb"); !path.empty()) {
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
