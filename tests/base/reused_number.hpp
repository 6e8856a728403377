// Numbers of processes that are given out again: bodies in a PID namespace of their own, where
// nobody else begins processes.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <optional>

#include "base/process_id.hpp"
#include "tests/engine/fresh_process.hpp"

namespace weft {

/// Runs `body` as the first process of a namespace with a /proc of its own. Its exit code; nothing
/// where that is not allowed.
template <class Body>
std::optional<int> in_pid_namespace(Body body) {
  constexpr int kNotAllowed = 77;
  const int code = engine::in_child([&] {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(kNotAllowed);
    const int inner = engine::in_child([&] {
      const bool may = ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount("proc", "/proc", "proc", 0, nullptr) == 0;
      if (!may) ::_exit(kNotAllowed);
      body();
    });
    if (inner != 0) ::_exit(inner);
  });
  return code == kNotAllowed ? std::nullopt : std::optional(code);
}

/// A process that sleeps and has the number of `gone`, which has been waited for. In a namespace of
/// in_pid_namespace().
inline pid_t take_number_of(const ProcessId& gone) {
  // A start is told in ticks: later ones differ from it once the next has come.
  const auto ticks_now = [] {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    const long per_second = ::sysconf(_SC_CLK_TCK);
    return static_cast<std::uint64_t>(now.tv_sec * per_second +
                                      now.tv_nsec / (1'000'000'000 / per_second));
  };
  while (ticks_now() <= gone.start) ::sched_yield();
  std::ofstream("/proc/sys/kernel/ns_last_pid") << gone.number - 1;
  const pid_t stranger = engine::begin_child([] { ::pause(); });
  EXPECT_EQ(stranger, gone.number);
  return stranger;
}

inline void end(pid_t child) {
  ::kill(child, SIGKILL);
  EXPECT_EQ(engine::code_of(child), -SIGKILL);
}

}  // namespace weft
