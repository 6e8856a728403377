// Prints the frequency of this machine's time stamp counter in kHz. An emulated guest's counter is
// the host's, and a guest that measures it at boot on a busy host gets it wrong by up to a quarter:
// it is told instead.
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct reading {
  double seconds;
  unsigned long long ticks;
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/// Clock and counter at one moment: of many readings the one that was interrupted least.
static struct reading read_both(void) {
  struct reading best = {0, 0};
  double shortest = 1;
  for (int i = 0; i < 50; ++i) {
    const double before = now();
    const unsigned long long ticks = __rdtsc();
    const double after = now();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = (struct reading){(before + after) / 2, ticks};
  }
  return best;
}

int main(void) {
  const struct timespec pause = {0, 100000000};
  const struct reading begin = read_both();
  nanosleep(&pause, NULL);
  const struct reading end = read_both();
  printf("%.0f\n", (double)(end.ticks - begin.ticks) / (end.seconds - begin.seconds) / 1e3);
  return 0;
}
