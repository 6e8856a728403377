/* Random collectives with answers that each rank computes, on communicators of several shapes,
 * while something goes wrong:
 *
 *   chaos_program FOLDER CALLS SEED [TROUBLE RANK AFTER_US]
 *
 * TROUBLE happens to RANK so many microseconds after the first call: kill (SIGKILL), stop:SECONDS
 * (SIGSTOP, and SIGCONT so much later), exit, abort (MPI_Abort), run:COMMAND (by a shell, on the
 * rank's node). Each rank writes its end into FOLDER/RANK: "right", "wrong ...", or "error
 * CLASS MICROSECONDS TEXT" with the time since the trouble began (0: there was none that the
 * program knows of). The nodes share FOLDER, and the time of day. Errors return; after one a rank
 * makes no further call. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "collectives.h"

enum { kComms = 4 };

static int world_rank;
static const char* folder;
static volatile int* has_begun; /* the trouble; shared with the process that makes it */

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Written whole: a reader never sees half of it. */
static void write_file(const char* name, const char* text) {
  char path[512], part[520];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  snprintf(part, sizeof part, "%s.part", path);
  FILE* file = fopen(part, "w");
  if (file == NULL) _exit(4);
  fprintf(file, "%s\n", text);
  fclose(file);
  rename(part, path);
}

static void write_end(const char* text) {
  char name[16];
  snprintf(name, sizeof name, "%d", world_rank);
  write_file(name, text);
}

/* Called by the process that makes the trouble. */
static void note_begin(void) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)now_us());
  write_file("began", text);
  *has_begun = 1;
}

static int64_t us_since_begin(void) {
  char path[512];
  long long began = 0;
  snprintf(path, sizeof path, "%s/began", folder);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  const int found = fscanf(file, "%lld", &began);
  fclose(file);
  return found == 1 ? now_us() - began : 0;
}

static void end_with_error(int code) {
  char text[MPI_MAX_ERROR_STRING], line[MPI_MAX_ERROR_STRING + 64];
  int length = 0, class = 0;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  snprintf(line, sizeof line, "error %d %lld %s", class, (long long)us_since_begin(), text);
  write_end(line);
  _exit(3);
}

static void check(int code) {
  if (code != MPI_SUCCESS) end_with_error(code);
}

static void expect(const char* what, int call, int is_right) {
  if (is_right) return;
  char line[128];
  snprintf(line, sizeof line, "wrong %s in call %d", what, call);
  write_end(line);
  _exit(5);
}

/* A process that makes trouble once a byte comes through the pipe. It ends with this one. */
static int start_trouble(const char* trouble, long after_us) {
  int ends[2];
  const pid_t self = getpid();
  if (pipe(ends) != 0) _exit(4);
  if (fork() == 0) {
    char byte = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1 || getppid() != self) _exit(0);
    usleep((useconds_t)after_us);
    note_begin();
    if (strncmp(trouble, "run:", 4) == 0) _exit(system(trouble + 4) == 0 ? 0 : 1);
    if (strcmp(trouble, "kill") == 0) kill(self, SIGKILL);
    if (strcmp(trouble, "exit") == 0 || strcmp(trouble, "abort") == 0) _exit(0);
    if (strncmp(trouble, "stop:", 5) == 0) {
      kill(self, SIGSTOP);
      sleep((unsigned)atoi(trouble + 5));
      kill(self, SIGCONT);
    }
    _exit(0);
  }
  close(ends[0]);
  return ends[1];
}

int main(int argc, char** argv) {
  if (argc != 4 && argc != 7) return 2;
  folder = argv[1];
  const int calls = atoi(argv[2]);
  const char* rank_text = getenv("OMPI_COMM_WORLD_RANK");
  const char* trouble = argc == 7 ? argv[4] : "none";
  const int is_troubled = argc == 7 && rank_text != NULL && strcmp(rank_text, argv[5]) == 0;
  has_begun =
      mmap(NULL, sizeof *has_begun, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (has_begun == MAP_FAILED) return 4;
  const int bell = is_troubled ? start_trouble(trouble, atol(argv[6])) : -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  state = strtoull(argv[3], NULL, 10);
  MPI_Comm comms[kComms] = {MPI_COMM_WORLD};
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[3]);
  for (int i = 0; i < kComms; ++i) MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
  int64_t* in = malloc(sizeof(int64_t) * kMost * 4);
  int64_t* out = malloc(sizeof(int64_t) * kMost * 4);
  for (int call = 0; call < calls; ++call) {
    if (call == 1 && bell >= 0 && write(bell, "", 1) != 1) _exit(4);
    if (is_troubled && call > 1 && *has_begun) {
      if (strcmp(trouble, "exit") == 0) _exit(0);
      if (strcmp(trouble, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 6);
    }
    one_call(call, comms[below(kComms)], in, out);
  }
  for (int i = 1; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  write_end("right");
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
