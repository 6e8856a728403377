#include "cli/options/programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/file.hpp"

namespace weft::cli {

namespace {

constexpr std::string_view kPreload = "LD_PRELOAD=";

/// Both ends of a pipe.
struct Pipe {
  File from;
  File to;

  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    from = File(ends[0]);
    to = File(ends[1]);
  }
};

/// Pointers to the texts, and a null pointer behind them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The process, or -1 where it could not be started.
pid_t start(std::vector<std::string>& words, const std::string& preload, const Pipe& out,
            const Pipe& err) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.to.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err.to.get(), STDERR_FILENO);
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(kPreload)) environment.emplace_back(*entry);
  }
  if (!preload.empty()) environment.push_back(std::string(kPreload) + preload);
  pid_t child = -1;
  const auto argv = pointers_to(words);
  const auto envp = pointers_to(environment);
  const int refused =
      ::posix_spawn(&child, words[0].c_str(), &actions, nullptr, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  return refused == 0 ? child : -1;
}

/// Appends what is there to be read. False at the end.
bool read_some(const File& from, std::string& text) {
  std::array<char, 4096> part{};
  const ssize_t bytes = ::read(from.get(), part.data(), part.size());
  if (bytes < 0 && errno == EINTR) return true;
  if (bytes > 0) text.append(part.data(), static_cast<std::size_t>(bytes));
  return bytes > 0;
}

/// Reads both until their ends. False where the time is up before.
bool read_both(Pipe& out, Pipe& err, Ran& ran, std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::array<pollfd, 2> ends = {{{out.from.get(), POLLIN, 0}, {err.from.get(), POLLIN, 0}}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (::poll(ends.data(), ends.size(), static_cast<int>(left.count())) < 0) continue;
    if (ends[0].revents != 0 && !read_some(out.from, ran.out)) ends[0].fd = -1;
    if (ends[1].revents != 0 && !read_some(err.from, ran.err)) ends[1].fd = -1;
  }
  return true;
}

}  // namespace

bool is_program(const std::string& path) {
  std::error_code ignored;
  return ::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, ignored);
}

std::string look_up_program(const std::string& name) {
  if (name.find('/') != name.npos) return name;
  const std::string path = env::text("PATH").value_or("/usr/bin:/bin");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = begin == end ? "." : path.substr(begin, end - begin);
    std::string file = fmt::format("{}/{}", folder, name);
    if (is_program(file)) return file;
    begin = end + 1;
  }
  return {};
}

std::string find_program(std::string_view command, const std::string& name) {
  std::string path = look_up_program(name);
  if (path.empty()) throw_usage("{} {}: no such program on PATH", command, name);
  return path;
}

Ran run_program(std::vector<std::string> words, const std::string& preload,
                std::chrono::seconds patience) {
  Ran ran;
  Pipe out;
  Pipe err;
  if (!out.from || !err.from) return ran;
  const pid_t child = start(words, preload, out, err);
  out.to.reset();
  err.to.reset();
  if (child < 0) return ran;
  if (!read_both(out, err, ran, patience)) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) ran.code = WEXITSTATUS(status);
  return ran;
}

}  // namespace weft::cli
