#include "verbs/soft/segment/robust_lock.hpp"

#include <cerrno>

namespace weft::soft {

namespace {
void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
}  // namespace

void RobustMutex::init() noexcept {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&mutex_, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
}

int RobustMutex::lock_contended(int result) noexcept {
  // The critical sections are short: a moment of spinning usually spares the two system calls.
  for (int i = 0; i < 64 && result == EBUSY; ++i) {
    relax();
    result = ::pthread_mutex_trylock(&mutex_);
  }
  if (result == EBUSY) result = ::pthread_mutex_lock(&mutex_);
  if (result == EOWNERDEAD) ::pthread_mutex_consistent(&mutex_);
  return result == EOWNERDEAD ? EOWNERDEAD : 0;
}

}  // namespace weft::soft
