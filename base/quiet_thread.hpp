// Threads of weft's own inside somebody's program.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace weft {

/// A thread to which none of the program's signals come: those are for the program's own threads.
/// std::system_error when there can be no more.
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
