// Roles: processes of a test, each forked to run one function. They exchange addresses through the
// first.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace weft::soft::test {

/// A line to another process: sends values to it and waits for its values.
class Line {
 public:
  explicit Line(int socket) : socket_(socket) {}

  template <class T>
  void send(const T& value) {
    if (::send(socket_, &value, sizeof(value), MSG_NOSIGNAL) != sizeof(value)) {
      throw std::runtime_error("the other process is gone");
    }
  }
  template <class T>
  T receive() {
    pollfd waiting = {.fd = socket_, .events = POLLIN, .revents = 0};
    T value{};
    if (::poll(&waiting, 1, 30'000) != 1 ||
        ::recv(socket_, &value, sizeof(value), MSG_WAITALL) != sizeof(value)) {
      throw std::runtime_error("nothing came from the other process");
    }
    return value;
  }
  template <class T>
  T exchange(const T& value) {
    send(value);
    return receive<T>();
  }

 private:
  int socket_;
};

/// A forked process that runs one role; its exit status says whether expectations failed in it.
class Role {
 public:
  explicit Role(const std::function<void(Line&)>& body) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      throw std::runtime_error("socketpair");
    }
    const int failures_before = failures();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[0]);
      Line line(ends[1]);
      try {
        body(line);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
      std::fflush(nullptr);
      ::_exit(failures() > failures_before ? 1 : 0);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;
  ~Role() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(socket_);
  }

  Line line() const { return Line(socket_); }
  pid_t pid() const { return pid_; }

  /// Waits until the role has ended, and expects success.
  void expect_success() {
    pollfd process = {
        .fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)), .events = POLLIN, .revents = 0};
    const int ended = ::poll(&process, 1, 60'000);
    ::close(process.fd);
    if (ended != 1) {
      ADD_FAILURE() << "process " << pid_ << " does not end";
      return;
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "process " << pid_ << " ended with status " << status;
    pid_ = -1;
  }
  /// kill -9. The process stays a zombie when `reap` is not set.
  void kill(bool reap = true) {
    ::kill(pid_, SIGKILL);
    if (!reap) return;
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  static int failures() {
    const auto* running = ::testing::UnitTest::GetInstance()->current_test_info();
    return running->result()->total_part_count();
  }

  pid_t pid_ = -1;
  int socket_ = -1;
};

/// Passes values of type T between two roles, once each way.
template <class T>
void introduce(Role& first, Role& second) {
  const T one = first.line().receive<T>();
  const T other = second.line().receive<T>();
  first.line().send(other);
  second.line().send(one);
}

}  // namespace weft::soft::test
