#include "tests/comm/support/processes.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "base/error.hpp"
#include "base/file.hpp"
#include "comm/bootstrap/tcp_address.hpp"

namespace weft::test {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{60};

struct Child {
  pid_t process = -1;
  File pipe;
};

[[noreturn]] void be_rank(int rank, int pipe, const std::function<std::string(int)>& body) {
  std::string said;
  try {
    ::setenv("WEFT_RANK", std::to_string(rank).c_str(), 1);
    said = body(rank);
  } catch (const std::exception& error) {
    said = error.what();
  }
  [[maybe_unused]] const auto written = ::write(pipe, said.data(), said.size());
  ::_exit(0);
}

Ended wait_for(const Child& child, Clock::time_point deadline) {
  Ended ended;
  std::array<char, 1024> text{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd ready{child.pipe.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) break;
    const ssize_t bytes = ::read(child.pipe.get(), text.data(), text.size());
    if (bytes <= 0) {
      ended.in_time = true;
      break;
    }
    ended.said.append(text.data(), static_cast<std::size_t>(bytes));
  }
  if (!ended.in_time) ::kill(child.process, SIGKILL);
  int status = 0;
  ::waitpid(child.process, &status, 0);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  return ended;
}

}  // namespace

std::vector<Ended> run_processes(int ranks,
                                 const std::vector<std::pair<std::string, std::string>>& settings,
                                 const std::function<std::string(int rank)>& body) {
  std::string root;
  const File port = comm::reserve_root(root);
  std::vector<Child> children;
  for (int rank = 0; rank < ranks; ++rank) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw_errno("pipe");
    File reads(ends[0]);
    const pid_t process = ::fork();
    if (process < 0) throw_errno("fork");
    if (process == 0) {
      // An end held here would keep the parent from seeing that the others have ended.
      for (Child& child : children) child.pipe = File();
      ::setenv("WEFT_SIZE", std::to_string(ranks).c_str(), 1);
      ::setenv("WEFT_ROOT", root.c_str(), 1);
      for (const auto& [name, value] : settings) ::setenv(name.c_str(), value.c_str(), 1);
      be_rank(rank, ends[1], body);
    }
    ::close(ends[1]);
    children.push_back({process, std::move(reads)});
  }
  const auto deadline = Clock::now() + kPatience;
  std::vector<Ended> ended;
  for (const Child& child : children) ended.push_back(wait_for(child, deadline));
  return ended;
}

}  // namespace weft::test
