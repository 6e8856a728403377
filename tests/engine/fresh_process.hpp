// A test's body in a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace weft::engine {

/// The end of a child: its exit code, or minus the signal.
inline int code_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/// Runs `body` in a child, and ends it; its exit code is 1 when a check in it has
/// failed. Its output goes where the test's output goes.
template <class Body>
pid_t begin_child(Body body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  return child;
}

template <class Body>
int in_child(Body body) {
  return code_of(begin_child(body));
}

}  // namespace weft::engine
