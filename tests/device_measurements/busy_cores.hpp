// Busy cores: processes that use all the time of the cores that they get.
#pragma once

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

namespace weft::test {

/// A child for each core that this process may use, which runs there until the object ends.
class BusyCores {
 public:
  BusyCores() {
    cpu_set_t cores;
    if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &cores)) continue;
      const pid_t child = ::fork();
      if (child == 0) run_on(core);
      if (child > 0) children_.push_back(child);
    }
  }
  BusyCores(const BusyCores&) = delete;
  BusyCores& operator=(const BusyCores&) = delete;
  ~BusyCores() {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  std::size_t count() const { return children_.size(); }

 private:
  [[noreturn]] static void run_on(int core) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    for (;;) asm volatile("");
  }

  std::vector<pid_t> children_;
};

}  // namespace weft::test
