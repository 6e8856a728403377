// weft run: starts each rank as a process and waits for all.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "base/error.hpp"
#include "base/file.hpp"
#include "cli/run/launch.hpp"

namespace weft::cli {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Executes the program in the child. An error of exec() is written to `error_pipe`, which a
/// successful exec() closes.
[[noreturn]] void exec_program(const Launch& launch, char* const* arguments,
                               char* const* environment, pid_t tool, int error_pipe) {
  // A rank does not outlive the tool.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() == tool) ::execve(launch.program.c_str(), arguments, environment);
  const int error = errno;
  [[maybe_unused]] const auto ignored = ::write(error_pipe, &error, sizeof error);
  ::_exit(127);
}

class Processes {
 public:
  explicit Processes(int ranks) : processes_(static_cast<std::size_t>(ranks), 0) {}
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes() { end_all(); }

  void start(const Launch& launch, int rank) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe");
    const File reads(ends[0]);
    File writes(ends[1]);
    auto arguments = launch.arguments;
    auto environment = environment_of(launch, rank);
    const auto argument_pointers = pointers_to(arguments);
    const auto environment_pointers = pointers_to(environment);
    const pid_t tool = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) throw_errno("fork");
    if (child == 0) {
      exec_program(launch, argument_pointers.data(), environment_pointers.data(), tool,
                   writes.get());
    }
    processes_[static_cast<std::size_t>(rank)] = child;
    writes.reset();
    int error = 0;
    if (::read(reads.get(), &error, sizeof error) == sizeof error) {
      throw SystemError(fmt::format("run: exec({})", launch.program), error);
    }
  }

  /// Waits until all ranks have ended, or a rank has failed. Returns the exit code.
  int wait() {
    int status = 0;
    while (std::ranges::any_of(processes_, [](pid_t one) { return one != 0; })) {
      const pid_t ended = ::waitpid(-1, &status, 0);
      if (ended < 0 && errno == EINTR) continue;
      if (ended < 0) throw_errno("waitpid");
      const auto found = std::ranges::find(processes_, ended);
      if (found == processes_.end()) continue;
      *found = 0;
      const auto rank = found - processes_.begin();
      if (WIFSIGNALED(status)) {
        fmt::print(stderr, "weft: run: rank {} was ended by signal {} ({})\n", rank,
                   WTERMSIG(status), ::strsignal(WTERMSIG(status)));
        return 128 + WTERMSIG(status);
      }
      if (WEXITSTATUS(status) != 0) {
        fmt::print(stderr, "weft: run: rank {} ended with {}\n", rank, WEXITSTATUS(status));
        return WEXITSTATUS(status);
      }
    }
    return 0;
  }

 private:
  /// By SIGTERM, and after 5 s by SIGKILL.
  void end_all() {
    constexpr auto kPatience = std::chrono::seconds(5);
    send_signal(SIGTERM);
    const auto deadline = Clock::now() + kPatience;
    while (reap_ended() && Clock::now() < deadline) ::poll(nullptr, 0, 5);
    send_signal(SIGKILL);
    for (pid_t& one : processes_) {
      while (one != 0 && ::waitpid(one, nullptr, 0) < 0 && errno == EINTR) {
      }
      one = 0;
    }
  }
  void send_signal(int signal) {
    for (const pid_t one : processes_) {
      if (one != 0) ::kill(one, signal);
    }
  }
  /// Reaps processes that have ended. Returns whether any is left.
  bool reap_ended() {
    for (pid_t& one : processes_) {
      if (one != 0 && ::waitpid(one, nullptr, WNOHANG) != 0) one = 0;
    }
    return std::ranges::any_of(processes_, [](pid_t one) { return one != 0; });
  }

  std::vector<pid_t> processes_;  // by rank; 0: not started, or ended
};

}  // namespace

int run_processes(const Launch& launch) {
  Processes processes(launch.ranks);
  for (int rank = 0; rank < launch.ranks; ++rank) processes.start(launch, rank);
  return processes.wait();
}

}  // namespace weft::cli
