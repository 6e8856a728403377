/* What the cores of this machine can do at most: two threads, each on a core of its own.

     bench_core_limits MILLISECONDS BYTES...

   Prints "flag NANOSECONDS": how long a flag takes from one to the other, half of a round trip,
   and for each size "copy BYTES GB/S": what each of two memcpy loops over blocks of so many bytes
   copies while the other runs too. Each is the median of 7 batches. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kBatches = 7, kThreads = 2 };

static double batch_seconds;
static int cores[kThreads];
static pthread_barrier_t meeting;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int compare(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static double median(double* of) {
  qsort(of, kBatches, sizeof *of, compare);
  return of[kBatches / 2];
}

static void pin(int number) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cores[number], &mask);
  if (pthread_setaffinity_np(pthread_self(), sizeof mask, &mask) != 0) {
    fprintf(stderr, "bench_core_limits: cannot be bound to core %d\n", cores[number]);
    exit(1);
  }
}

/* The first two cores that this process may use. */
static void find_cores(void) {
  cpu_set_t mask;
  int found = 0;
  sched_getaffinity(0, sizeof mask, &mask);
  for (int core = 0; core < CPU_SETSIZE && found < kThreads; ++core) {
    if (CPU_ISSET(core, &mask)) cores[found++] = core;
  }
  if (found < kThreads) {
    fprintf(stderr, "bench_core_limits: fewer than two cores\n");
    exit(1);
  }
}

static struct { _Alignas(64) atomic_uint count; } flags[kThreads];

static void* answer(void* turns) {
  pin(1);
  for (unsigned turn = 1; turn <= *(const unsigned*)turns; ++turn) {
    while (atomic_load_explicit(&flags[0].count, memory_order_acquire) != turn) {
    }
    atomic_store_explicit(&flags[1].count, turn, memory_order_release);
  }
  return NULL;
}

static double one_way_ns(void) {
  double times[kBatches];
  unsigned turns = 200000;
  for (int batch = 0; batch < kBatches; ++batch) {
    pthread_t other;
    flags[0].count = flags[1].count = 0;
    pthread_create(&other, NULL, answer, &turns);
    double begin = 0;
    for (unsigned turn = 1; turn <= turns; ++turn) {
      if (turn == turns / 10) begin = now();
      atomic_store_explicit(&flags[0].count, turn, memory_order_release);
      while (atomic_load_explicit(&flags[1].count, memory_order_acquire) != turn) {
      }
    }
    times[batch] = (now() - begin) * 1e9 / (0.9 * turns) / 2;
    pthread_join(other, NULL);
  }
  return median(times);
}

typedef struct {
  int number;
  size_t bytes;
  double rate; /* median of its batches, bytes a second */
} Copier;

static void* copy(void* argument) {
  Copier* copier = argument;
  double rates[kBatches];
  pin(copier->number);
  char* from = aligned_alloc(4096, (copier->bytes + 4095) / 4096 * 4096);
  char* to = aligned_alloc(4096, (copier->bytes + 4095) / 4096 * 4096);
  if (from == NULL || to == NULL) exit(1);
  memset(from, 1, copier->bytes);
  memset(to, 2, copier->bytes);
  for (int batch = 0; batch < kBatches; ++batch) {
    size_t copies = 0;
    pthread_barrier_wait(&meeting);
    const double begin = now();
    double end = begin;
    while (end - begin < batch_seconds) {
      for (int i = 0; i < 16; ++i) {
        memcpy(to, from, copier->bytes);
        __asm__ volatile("" : : "r"(to) : "memory");
      }
      copies += 16;
      end = now();
    }
    rates[batch] = (double)copies * (double)copier->bytes / (end - begin);
  }
  copier->rate = median(rates);
  free(from);
  free(to);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2 || atof(argv[1]) <= 0) {
    fprintf(stderr, "usage: bench_core_limits MILLISECONDS BYTES...\n");
    return 2;
  }
  batch_seconds = atof(argv[1]) / 1000;
  find_cores();
  pin(0);
  printf("flag %.1f\n", one_way_ns());
  pthread_barrier_init(&meeting, NULL, kThreads);
  for (int i = 2; i < argc; ++i) {
    Copier copiers[kThreads];
    pthread_t threads[kThreads];
    for (int number = 0; number < kThreads; ++number) {
      copiers[number] = (Copier){number, strtoull(argv[i], NULL, 10), 0};
      pthread_create(&threads[number], NULL, copy, &copiers[number]);
    }
    double rate = 0;
    for (int number = 0; number < kThreads; ++number) {
      pthread_join(threads[number], NULL);
      rate += copiers[number].rate / kThreads;
    }
    printf("copy %zu %.3f\n", copiers[0].bytes, rate * 1e-9);
  }
  return 0;
}
