/* Behind the add-on: a kernel that takes a millisecond more to read another process's memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/uio.h>
#include <time.h>

static void wait_longer(void) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 1000000);
}

ssize_t process_vm_readv(pid_t process, const struct iovec* here, unsigned long heres,
                         const struct iovec* there, unsigned long theres, unsigned long flags) {
  static ssize_t (*next)(pid_t, const struct iovec*, unsigned long, const struct iovec*,
                         unsigned long, unsigned long);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "process_vm_readv");
  wait_longer();
  return next(process, here, heres, there, theres, flags);
}
