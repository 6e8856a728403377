// Quiet threads: weft's own threads inside a user's program.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace weft {

/// Starts a thread that blocks all signals, so that they go to the program's own threads.
/// std::system_error when no thread can be started.
template <class Work>
std::thread quiet_thread(Work work) {
  struct Mask {
    sigset_t before;
    Mask() {
      sigset_t all;
      sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Mask() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  };
  const Mask mask;  // the new thread inherits it
  return std::thread(std::move(work));
}

}  // namespace weft
