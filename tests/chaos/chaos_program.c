/* Random collectives with answers that each rank computes, on communicators of several shapes,
 * while something goes wrong:
 *
 *   chaos_program FOLDER CALLS SEED [TROUBLE RANK AFTER_US]
 *
 * TROUBLE happens to RANK so many microseconds after the first call: kill (SIGKILL), stop (SIGSTOP,
 * and SIGCONT 2 s later), long-stop (8 s later), exit, abort (MPI_Abort). Each rank writes its end
 * into FOLDER/RANK: "right", "wrong ...", or "error CLASS MICROSECONDS TEXT" with the time since
 * the trouble began (0: there was none that the program knows of). Errors return; after one a rank
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

enum { kMost = 16384, kComms = 4 };

static uint64_t state;
static int world_rank;
static const char* folder;
static volatile int64_t* began_us; /* of the trouble; shared with the process that makes it */

static int64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int below(int bound) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)bound);
}

/* Written whole: a reader never sees half of it. */
static void write_end(const char* text) {
  char path[512], part[520];
  snprintf(path, sizeof path, "%s/%d", folder, world_rank);
  snprintf(part, sizeof part, "%s.part", path);
  FILE* file = fopen(part, "w");
  if (file == NULL) _exit(4);
  fprintf(file, "%s\n", text);
  fclose(file);
  rename(part, path);
}

static void end_with_error(int code) {
  char text[MPI_MAX_ERROR_STRING], line[MPI_MAX_ERROR_STRING + 64];
  int length = 0, class = 0;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  const int64_t since = *began_us == 0 ? 0 : now_us() - *began_us;
  snprintf(line, sizeof line, "error %d %lld %s", class, (long long)since, text);
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

/* The word that rank `from` has for rank `to` at place `i` of call `call`. */
static int64_t word(int call, int from, int to, int i) {
  return (int64_t)call * 1000003 + from * 10007 + to * 101 + i;
}

static void one_call(int call, MPI_Comm comm, int64_t* in, int64_t* out) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  static const int counts[] = {1, 1, 2, 8, 64, 512, 2048};
  const int kind = below(9), count = counts[below(7)], root = below(kMost) % size;
  int right = 1;
  switch (kind) {
    case 0:
      check(MPI_Barrier(comm));
      return;
    case 1:
      for (int i = 0; i < count; ++i) in[i] = word(call, root, 0, i) * (rank == root);
      check(MPI_Bcast(in, count, MPI_INT64_T, root, comm));
      for (int i = 0; i < count; ++i) right &= in[i] == word(call, root, 0, i);
      return expect("broadcast", call, right);
    case 2:
    case 3: {
      for (int i = 0; i < count; ++i) in[i] = word(call, rank, 0, i);
      check(kind == 2 ? MPI_Allreduce(in, out, count, MPI_INT64_T, MPI_SUM, comm)
                      : MPI_Reduce(in, out, count, MPI_INT64_T, MPI_SUM, root, comm));
      for (int i = 0; (kind == 2 || rank == root) && i < count; ++i) {
        right &= out[i] == size * word(call, 0, 0, i) + (int64_t)10007 * size * (size - 1) / 2;
      }
      return expect(kind == 2 ? "allreduce" : "reduce", call, right);
    }
    case 4:
      for (int i = 0; i < count; ++i) in[i] = word(call, rank, 0, i);
      check(MPI_Allgather(in, count, MPI_INT64_T, out, count, MPI_INT64_T, comm));
      for (int i = 0; i < count * size; ++i) right &= out[i] == word(call, i / count, 0, i % count);
      return expect("allgather", call, right);
    case 5:
      for (int i = 0; i < count * size; ++i) in[i] = word(call, rank, i / count, i % count);
      check(MPI_Alltoall(in, count, MPI_INT64_T, out, count, MPI_INT64_T, comm));
      for (int i = 0; i < count * size; ++i)
        right &= out[i] == word(call, i / count, rank, i % count);
      return expect("alltoall", call, right);
    case 6: {
      int sent[64], from[64], at_sent[64], at_from[64], all_sent = 0, all_from = 0;
      for (int peer = 0; peer < size; ++peer) {
        sent[peer] = (rank + peer + call) % 3 == 0 ? 0 : count;
        from[peer] = sent[peer]; /* the rule is symmetric */
        at_sent[peer] = all_sent, at_from[peer] = all_from;
        for (int i = 0; i < sent[peer]; ++i) in[all_sent + i] = word(call, rank, peer, i);
        all_sent += sent[peer], all_from += from[peer];
      }
      check(MPI_Alltoallv(in, sent, at_sent, MPI_INT64_T, out, from, at_from, MPI_INT64_T, comm));
      for (int peer = 0; peer < size; ++peer) {
        for (int i = 0; i < from[peer]; ++i)
          right &= out[at_from[peer] + i] == word(call, peer, rank, i);
      }
      return expect("alltoallv", call, right);
    }
    case 7:
      for (int i = 0; i < count * size; ++i) in[i] = word(call, rank, i / count, i % count);
      check(MPI_Scatter(in, count, MPI_INT64_T, out, count, MPI_INT64_T, root, comm));
      for (int i = 0; i < count; ++i) right &= out[i] == word(call, root, rank, i);
      return expect("scatter", call, right);
    default:
      for (int i = 0; i < count; ++i) in[i] = word(call, rank, 0, i);
      check(MPI_Gather(in, count, MPI_INT64_T, out, count, MPI_INT64_T, root, comm));
      for (int i = 0; rank == root && i < count * size; ++i)
        right &= out[i] == word(call, i / count, 0, i % count);
      return expect("gather", call, right);
  }
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
    *began_us = now_us();
    if (strcmp(trouble, "kill") == 0) kill(self, SIGKILL);
    if (strcmp(trouble, "exit") == 0 || strcmp(trouble, "abort") == 0) _exit(0);
    if (strstr(trouble, "stop") != NULL) {
      kill(self, SIGSTOP);
      sleep(strcmp(trouble, "stop") == 0 ? 2 : 8);
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
  /* Of this host alone: what one rank writes the others read. */
  char path[512];
  snprintf(path, sizeof path, "%s/began", folder);
  FILE* file = fopen(path, "r+");
  if (file == NULL) return 4;
  began_us = mmap(NULL, sizeof *began_us, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  if (began_us == MAP_FAILED) return 4;
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
    if (is_troubled && call > 1 && *began_us != 0) {
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
