// Preloaded into the ranks of a guest: sched_yield that sleeps for an instant. Ranks that poll
// yield in between, but on a virtual processor with nothing else to run that returns at once, and
// the guest keeps the host's core from the guest that it waits for. A sleep lets the core go.
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <time.h>

__attribute__((constructor)) static void wake_exactly(void) {
  prctl(PR_SET_TIMERSLACK, 1);
}

int sched_yield(void) {
  const struct timespec instant = {0, 1};
  nanosleep(&instant, NULL);
  return 0;
}
