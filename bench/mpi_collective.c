/* Times one collective, as the program's MPI gives it: a plain MPI program that knows nothing of
   weft, to be run as it is and with an add-on preloaded.

   For each size: warm-up, then `repeats` batches of calls. Collectives in which every rank waits
   for every other are called back to back; between calls of the others there is a barrier, which
   is not timed (as the OSU benchmarks do). A batch's figure is its time on the slowest rank over
   its calls. Rank 0 prints one line a size: bytes, then the figures of all batches in microseconds.
   Every answer is checked before and after. Sizes are bytes of a block or vector. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static uint64_t *in, *out;
static int words; /* of a block or vector */

static uint64_t value(int from, int to, size_t at) {
  return (uint64_t)from * 0x10001 + (uint64_t)to * 0x101 + at;
}

static uint64_t sum_to(int last, size_t at) {
  uint64_t sum = 0;
  for (int from = 0; from <= last; ++from) sum += value(from, 0, at);
  return sum;
}

static void do_alltoall(void) {
  MPI_Alltoall(in, words, MPI_UINT64_T, out, words, MPI_UINT64_T, MPI_COMM_WORLD);
}
static uint64_t right_alltoall(int block, size_t at) {
  return value(block, rank, at);
}

static void do_allgather(void) {
  MPI_Allgather(in, words, MPI_UINT64_T, out, words, MPI_UINT64_T, MPI_COMM_WORLD);
}
static void do_gather(void) {
  MPI_Gather(in, words, MPI_UINT64_T, out, words, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}
static uint64_t right_allgather(int block, size_t at) {
  return value(block, 0, at);
}

static void do_scatter(void) {
  MPI_Scatter(in, words, MPI_UINT64_T, out, words, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}
static uint64_t right_scatter(int block, size_t at) {
  (void)block;
  return value(0, rank, at);
}

static void do_bcast(void) {
  MPI_Bcast(rank == 0 ? in : out, words, MPI_UINT64_T, 0, MPI_COMM_WORLD);
}
static uint64_t right_bcast(int block, size_t at) {
  (void)block;
  return value(0, 0, at);
}

static void do_allreduce(void) {
  MPI_Allreduce(in, out, words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}
static void do_reduce(void) {
  MPI_Reduce(in, out, words, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
}
static uint64_t right_allreduce(int block, size_t at) {
  (void)block;
  return sum_to(ranks - 1, at);
}

static void do_reduce_scatter(void) {
  MPI_Reduce_scatter_block(in, out, words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}
static uint64_t right_reduce_scatter(int block, size_t at) {
  (void)block;
  uint64_t sum = 0;
  for (int from = 0; from < ranks; ++from) sum += value(from, rank, at);
  return sum;
}

static void do_scan(void) {
  MPI_Scan(in, out, words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}
static uint64_t right_scan(int block, size_t at) {
  (void)block;
  return sum_to(rank, at);
}

static void do_barrier(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}

enum { kNobody, kRoot, kOthers, kAll };

static const struct Collective {
  const char* name;
  void (*run)(void);
  uint64_t (*right)(int block, size_t at);
  int output_blocks; /* 0: one a rank */
  int takes;         /* who has an output */
  int waits_for_all; /* every rank for every other */
} collectives[] = {
    {"alltoall", do_alltoall, right_alltoall, 0, kAll, 1},
    {"allgather", do_allgather, right_allgather, 0, kAll, 1},
    {"allreduce", do_allreduce, right_allreduce, 1, kAll, 1},
    {"reduce_scatter", do_reduce_scatter, right_reduce_scatter, 1, kAll, 1},
    {"barrier", do_barrier, NULL, 1, kNobody, 1},
    {"broadcast", do_bcast, right_bcast, 1, kOthers, 0},
    {"scatter", do_scatter, right_scatter, 1, kAll, 0},
    {"gather", do_gather, right_allgather, 0, kRoot, 0},
    {"reduce", do_reduce, right_allreduce, 1, kRoot, 0},
    {"scan", do_scan, right_scan, 1, kAll, 0},
};

static void check(const struct Collective* collective) {
  if (collective->takes == kNobody || (collective->takes == kRoot && rank != 0) ||
      (collective->takes == kOthers && rank == 0)) {
    return;
  }
  const int blocks = collective->output_blocks == 0 ? ranks : collective->output_blocks;
  for (int block = 0; block < blocks; ++block) {
    for (size_t at = 0; at < (size_t)words; ++at) {
      if (out[(size_t)block * (size_t)words + at] != collective->right(block, at)) {
        fprintf(stderr, "%s: rank %d: wrong word %zu of block %d, blocks of %d bytes\n",
                collective->name, rank, at, block, words * 8);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
}

static double seconds_of(const struct Collective* collective, int calls) {
  double seconds = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (collective->waits_for_all) {
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) collective->run();
    return MPI_Wtime() - begin;
  }
  for (int i = 0; i < calls; ++i) {
    const double begin = MPI_Wtime();
    collective->run();
    seconds += MPI_Wtime() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return seconds;
}

/* As many calls a batch as fill its time on the slowest rank. */
static int calls_for(const struct Collective* collective, double batch_seconds) {
  int calls = 1;
  for (;;) {
    double mine = seconds_of(collective, calls), slowest;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (slowest > batch_seconds || calls > 1000000) return calls;
    calls *= 2;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const struct Collective* collective = NULL;
  for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; ++i) {
    if (argc > 1 && strcmp(argv[1], collectives[i].name) == 0) collective = &collectives[i];
  }
  if (argc < 5 || collective == NULL) {
    if (rank == 0) fprintf(stderr, "usage: mpi_collective NAME REPEATS MILLISECONDS BYTES...\n");
    MPI_Finalize();
    return 2;
  }
  const int repeats = atoi(argv[2]);
  const double batch_seconds = atof(argv[3]) / 1000;
  for (int arg = 4; arg < argc; ++arg) {
    words = (int)((strtoull(argv[arg], NULL, 10) + 7) / 8);
    const size_t most = (size_t)words * (size_t)ranks;
    in = malloc(most * sizeof *in + 1);
    out = malloc(most * sizeof *out + 1);
    for (size_t i = 0; i < most; ++i) {
      in[i] = value(rank, (int)(i / (size_t)words), i % (size_t)words);
    }
    memset(out, 0, most * sizeof *out);
    collective->run();
    check(collective);
    const int calls = calls_for(collective, batch_seconds);
    if (rank == 0) printf("%s", argv[arg]);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      double mine = seconds_of(collective, calls) / calls * 1e6, slowest;
      MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (rank == 0) printf(" %.3f", slowest);
    }
    if (rank == 0) {
      printf("\n");
      fflush(stdout);
    }
    check(collective);
    free(in);
    free(out);
  }
  MPI_Finalize();
  return 0;
}
