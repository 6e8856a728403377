#include "tests/cli/run_tool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "base/error.hpp"
#include "base/file.hpp"

namespace weft::cli {

namespace {

using Stream = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Stream temporary_stream(const std::string& text = {}) {
  Stream stream(std::tmpfile(), std::fclose);
  if (stream == nullptr) throw_errno("tmpfile");
  std::fwrite(text.data(), 1, text.size(), stream.get());
  std::rewind(stream.get());
  return stream;
}

std::string text_of(std::FILE* stream) {
  std::rewind(stream);
  std::string text;
  for (int c = std::fgetc(stream); c != EOF; c = std::fgetc(stream)) {
    text += static_cast<char>(c);
  }
  return text;
}

/// The write end of a pipe that has no reader.
int closed_pipe() {
  int ends[2];
  if (::pipe(ends) != 0) throw_errno("pipe");
  ::close(ends[0]);
  return ends[1];
}

void wait_for(pid_t child, const std::function<void(pid_t)>& meanwhile, Ended& ended) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  const File process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!process) throw_errno("pidfd_open");
  pollfd ended_or_not{process.get(), POLLIN, 0};
  while (::poll(&ended_or_not, 1, meanwhile ? 1 : 1000) == 0) {
    if (std::chrono::steady_clock::now() > deadline) ::kill(child, SIGKILL);
    if (meanwhile) meanwhile(child);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
}

}  // namespace

Ended run_tool(const std::vector<std::string>& arguments, const Run& how) {
  const std::string tool = how.tool.empty() ? WEFT_TOOL : how.tool;
  std::vector<std::string> environment = {"LC_ALL=C.UTF-8"};
  bool path_given = false;
  for (const auto& [name, value] : how.environment) {
    environment.push_back(name + "=" + value);
    path_given = path_given || name == "PATH";
  }
  if (!path_given) environment.emplace_back("PATH=/usr/local/bin:/usr/bin:/bin");
  std::vector<char*> argv = {const_cast<char*>(tool.c_str())};
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (auto& entry : environment) envp.push_back(entry.data());
  envp.push_back(nullptr);

  const Stream in = temporary_stream(how.input);
  const Stream out = temporary_stream();
  const Stream err = temporary_stream();
  const int output = how.closed_output ? closed_pipe() : ::dup(::fileno(out.get()));
  const pid_t child = ::fork();
  if (child < 0) throw_errno("fork");
  if (child == 0) {
    ::dup2(::fileno(in.get()), STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(::fileno(err.get()), STDERR_FILENO);
    if (!how.directory.empty() && ::chdir(how.directory.c_str()) != 0) ::_exit(126);
    ::execve(tool.c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(output);
  Ended ended;
  wait_for(child, how.meanwhile, ended);
  ended.out = text_of(out.get());
  ended.err = text_of(err.get());
  return ended;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "weft-cli-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw_errno("mkdtemp");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TemporaryFolder::write(const std::filesystem::path& name,
                                             const std::string& text) const {
  const auto path = path_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw_errno("write(" + path.string() + ")");
  return path;
}

}  // namespace weft::cli
