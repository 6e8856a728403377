/* Random collectives for a long time, with a fault now and then that weft has to mend:
 *
 *   soak_program FOLDER SECONDS FAULT_EVERY_S SEED
 *
 * Communicators are made and freed meanwhile. Rank 0's clock says when a fault is due, and all
 * learn it by a broadcast, so that the calls stay the same on all ranks. Between faults each rank
 * writes a line into FOLDER/RANK: seconds, calls, faults, KiB of memory, descriptors, queue pairs.
 * An error or a wrong answer is a line of its own, and ends the rank. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectives.h"

enum { kComms = 5, kCallsBetween = 64 };
enum action { kGoOn, kFault, kMeasure, kEnd };

static FILE* out;
static int world_rank, world_size;

static const char* const faults[] = {"error:at=%d",         "lost-answer:at=%d",
                                     "qp-error:at=%d",      "port-down:at=%d,for=300ms",
                                     "delay:at=%d,by=20ms", "stop"};
enum { kFaults = sizeof faults / sizeof faults[0] };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void end_badly(const char* what, const char* text, int call) {
  fprintf(out, "%s %s in call %d\n", what, text, call);
  fclose(out);
  MPI_Abort(MPI_COMM_WORLD, 5);
}

static void check(int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  end_badly("error", text, -1);
}

static void expect(const char* what, int call, int is_right) {
  if (!is_right) end_badly("wrong", what, call);
}

/* A function of the software device, where it is loaded. */
static void* of_device(const char* name) {
  return dlsym(RTLD_DEFAULT, name)
             ? dlsym(RTLD_DEFAULT, name)
             : dlsym(dlopen(getenv("SOAK_DEVICE"), RTLD_NOW | RTLD_NOLOAD), name);
}

static void inject(const char* fault, int at) {
  if (strcmp(fault, "stop") == 0) {
    const pid_t self = getpid();
    const pid_t child = fork();
    if (child == 0) {
      kill(self, SIGSTOP);
      usleep(2000000);
      kill(self, SIGCONT);
      _exit(0);
    }
    waitpid(child, NULL, 0);
    return;
  }
  char text[64];
  snprintf(text, sizeof text, fault, at);
  int (*call)(const char*) = (int (*)(const char*))of_device("weft_soft_inject");
  if (call == NULL || call(text) != 0) end_badly("not injected", text, -1);
}

static long kib_of(const char* name) {
  char line[128];
  long found = -1;
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file)) {
    if (strncmp(line, name, strlen(name)) == 0) found = atol(line + strlen(name));
  }
  if (file != NULL) fclose(file);
  return found;
}

static int descriptors(void) {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (folder != NULL && readdir(folder) != NULL) ++count;
  if (folder != NULL) closedir(folder);
  return count;
}

static void measure(double seconds, int calls, int fault_count) {
  int (*pairs)(void) = (int (*)(void))of_device("weft_soft_queue_pairs");
  fprintf(out, "%.1f %d %d %ld %d %d\n", seconds, calls, fault_count, kib_of("VmRSS:"),
          descriptors(), pairs != NULL ? pairs() : -1);
  fflush(out);
}

static void make(MPI_Comm* comm, int which) {
  if (which == 1) MPI_Comm_dup(MPI_COMM_WORLD, comm);
  if (which == 2) MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, comm);
  if (which == 3) MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, comm);
  if (which == 4) MPI_Comm_split(MPI_COMM_WORLD, world_rank / 3, 0, comm);
  MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const double length = atof(argv[2]), every = atof(argv[3]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  char path[512];
  snprintf(path, sizeof path, "%s/%d", argv[1], world_rank);
  out = fopen(path, "w");
  if (out == NULL || world_size > 8) MPI_Abort(MPI_COMM_WORLD, 4);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  state = strtoull(argv[4], NULL, 10);
  MPI_Comm comms[kComms] = {MPI_COMM_WORLD};
  for (int i = 1; i < kComms; ++i) make(&comms[i], i);
  int64_t* in = malloc(sizeof(int64_t) * kMost);
  int64_t* to = malloc(sizeof(int64_t) * kMost);
  const double begin = now();
  double fault_at = every, measure_at = every / 2;
  int fault_count = 0;
  for (int call = 0, action = kGoOn; action != kEnd; ++call) {
    const int which = below(kComms);
    one_call(call % 100000, comms[which], in, to);
    if (below(512) == 0 && which != 0) {
      MPI_Comm_free(&comms[which]);
      make(&comms[which], which);
    }
    if (call % kCallsBetween != 0) continue;
    const double seconds = now() - begin;
    /* What is due first: on a busy machine both are late. */
    const double due = measure_at < fault_at ? measure_at : fault_at;
    action = seconds > length ? kEnd : seconds < due ? kGoOn : due < fault_at ? kMeasure : kFault;
    check(MPI_Bcast(&action, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (action == kMeasure) {
      measure(seconds, call, fault_count);
      measure_at += every;
    }
    if (action == kFault) {
      const int victim = below(world_size), kind = below(kFaults), at = 1 + below(400);
      if (world_rank == victim) inject(faults[kind], at);
      ++fault_count;
      fault_at += every;
    }
  }
  for (int i = 1; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  fprintf(out, "right\n");
  fclose(out);
  free(in);
  free(to);
  MPI_Finalize();
  return 0;
}
