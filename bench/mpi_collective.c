/* Times one collective, as the program's MPI gives it: a plain MPI program that knows nothing of
   weft, to be run as it is and with an add-on preloaded.

   For each size: warm-up, then `repeats` batches of calls. Collectives in which every rank waits
   for every other are called back to back; between calls of the others there is a barrier, which
   is not timed. A batch's figure is its time on the slowest rank over its calls. With
   --barriers=all there is such a barrier between all calls, and the figure is the mean of the
   ranks, as in the OSU benchmarks. Rank 0 prints one line a size: bytes, then the figures of all
   batches in microseconds. Every answer is checked before and after.

   Sizes are bytes of a block or vector; vectors that are reduced are rounded up to whole numbers of
   8 bytes. alltoallv has blocks of that size, alltoallv:one lets rank 0 alone send, and
   alltoallv:random=SEED has blocks from 0 to twice the size, so that it is their mean. alltoallw,
   allgatherv, gatherv, scatterv and reduce_scatterv (MPI_Reduce_scatter) give counts of one size.
   neighbours is MPI_Neighbor_alltoall around a ring of two ranks or more.

   Buffers are of the heap; with --static=both they are static, as those of many Fortran programs,
   with --static=send or --static=receive only those. With --fresh each rank writes what it sends
   anew before each call, as programs do: else it stays in the caches of those who have read it.
   Then there is a barrier between all calls, and neither is timed. With --nonblocking each call is
   the nonblocking function and MPI_Wait, with --nonblocking=N so many are started before all are
   waited for, each with an output of its own. With --rotate the root of each call is the next rank,
   as in the loops of IMB-MPI1; before answers are checked it is rank 0 once more. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static unsigned char *in, *out;
enum { kMostStatic = 64 << 20 };
static unsigned char static_in[kMostStatic], static_out[kMostStatic];
static int sends_static, receives_static;
static enum { kUntimed, kTimed, kNoBarriers, kAlways } barriers; /* kAlways: also where all wait */
static int bytes;                                                /* of a block or vector */
static int words;                                                /* of a vector that is reduced */
static size_t in_bytes;
static int is_fresh, rotates;
enum { kMostInFlight = 64 };
static int most_in_flight, in_flight; /* most: 0: calls are blocking */
static MPI_Request requests[kMostInFlight];
static unsigned char* outputs; /* as many as may be in flight; `out` is that of the next call */
static size_t out_bytes;
static int root;

static void wait_for_all(void) {
  if (in_flight == 1) MPI_Wait(requests, MPI_STATUS_IGNORE);
  if (in_flight > 1) MPI_Waitall(in_flight, requests, MPI_STATUSES_IGNORE);
  in_flight = 0;
  out = outputs;
}

#define CALL(name, lower, ...)                           \
  do {                                                   \
    if (most_in_flight != 0) {                           \
      MPI_I##lower(__VA_ARGS__, &requests[in_flight]);   \
      out += out_bytes;                                  \
      if (++in_flight == most_in_flight) wait_for_all(); \
    } else {                                             \
      MPI_##name(__VA_ARGS__);                           \
    }                                                    \
  } while (0)

/* Blocks that a rank sends and receives. All alike but those of alltoallv. */
static struct Blocks { int *bytes, *at; } sends, receives;
static MPI_Datatype* types; /* of alltoallw's blocks */
static int* words_of_each;  /* of reduce_scatterv's */
static enum { kEqual, kOne, kRandom } skew;
static uint64_t seed;

static uint64_t value(int from, int to, size_t at) {
  return (uint64_t)from * 0x10001 + (uint64_t)to * 0x101 + at;
}

static uint64_t sum_to(int last, int to, size_t at) {
  uint64_t sum = 0;
  for (int from = 0; from <= last; ++from) sum += value(from, to, at);
  return sum;
}

static void do_alltoall(void) {
  CALL(Alltoall, alltoall, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void do_alltoallv(void) {
  CALL(Alltoallv, alltoallv, in, sends.bytes, sends.at, MPI_BYTE, out, receives.bytes, receives.at,
       MPI_BYTE, MPI_COMM_WORLD);
}
static void do_alltoallw(void) {
  CALL(Alltoallw, alltoallw, in, sends.bytes, sends.at, types, out, receives.bytes, receives.at,
       types, MPI_COMM_WORLD);
}
static uint64_t right_alltoall(int block, size_t at) {
  return value(block, rank, at);
}

static void do_allgather(void) {
  CALL(Allgather, allgather, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
}
static void do_allgatherv(void) {
  CALL(Allgatherv, allgatherv, in, bytes, MPI_BYTE, out, receives.bytes, receives.at, MPI_BYTE,
       MPI_COMM_WORLD);
}
static void do_gather(void) {
  CALL(Gather, gather, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}
static void do_gatherv(void) {
  CALL(Gatherv, gatherv, in, bytes, MPI_BYTE, out, receives.bytes, receives.at, MPI_BYTE, root,
       MPI_COMM_WORLD);
}
static uint64_t right_allgather(int block, size_t at) {
  return value(block, 0, at);
}

static void do_scatter(void) {
  CALL(Scatter, scatter, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}
static void do_scatterv(void) {
  CALL(Scatterv, scatterv, in, sends.bytes, sends.at, MPI_BYTE, out, bytes, MPI_BYTE, root,
       MPI_COMM_WORLD);
}
static uint64_t right_scatter(int block, size_t at) {
  (void)block;
  return value(0, rank, at);
}

static void do_bcast(void) {
  CALL(Bcast, bcast, rank == root ? in : out, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}
static uint64_t right_bcast(int block, size_t at) {
  (void)block;
  return value(0, 0, at);
}

static void do_allreduce(void) {
  CALL(Allreduce, allreduce, in, out, words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}
static void do_reduce(void) {
  CALL(Reduce, reduce, in, out, words, MPI_UINT64_T, MPI_SUM, root, MPI_COMM_WORLD);
}
static uint64_t right_allreduce(int block, size_t at) {
  (void)block;
  return sum_to(ranks - 1, 0, at);
}

static void do_reduce_scatter(void) {
  CALL(Reduce_scatter_block, reduce_scatter_block, in, out, words, MPI_UINT64_T, MPI_SUM,
       MPI_COMM_WORLD);
}
static void do_reduce_scatterv(void) {
  CALL(Reduce_scatter, reduce_scatter, in, out, words_of_each, MPI_UINT64_T, MPI_SUM,
       MPI_COMM_WORLD);
}
static uint64_t right_reduce_scatter(int block, size_t at) {
  (void)block;
  return sum_to(ranks - 1, rank, at);
}

static void do_scan(void) {
  CALL(Scan, scan, in, out, words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}
static uint64_t right_scan(int block, size_t at) {
  (void)block;
  return sum_to(rank, 0, at);
}

static void do_neighbours(void) {
  static MPI_Comm ring = MPI_COMM_NULL;
  const int periodic = 1;
  if (ring == MPI_COMM_NULL) MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  CALL(Neighbor_alltoall, neighbor_alltoall, in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, ring);
}
static uint64_t right_neighbours(int block, size_t at) {
  return block == 0 ? value((rank + ranks - 1) % ranks, 1, at) : value((rank + 1) % ranks, 0, at);
}

static void do_barrier(void) {
  CALL(Barrier, barrier, MPI_COMM_WORLD);
}

enum { kNobody, kRoot, kOthers, kAll };

static const struct Collective {
  const char* name;
  void (*run)(void);
  uint64_t (*right)(int block, size_t at); /* an element of the output */
  int element_bytes;
  int output_blocks; /* 0: one a rank */
  int takes;         /* who has an output */
  int waits_for_all; /* every rank for every other */
} collectives[] = {
    {"alltoall", do_alltoall, right_alltoall, 1, 0, kAll, 1},
    {"alltoallv", do_alltoallv, right_alltoall, 1, 0, kAll, 1},
    {"alltoallw", do_alltoallw, right_alltoall, 1, 0, kAll, 1},
    {"allgather", do_allgather, right_allgather, 1, 0, kAll, 1},
    {"allgatherv", do_allgatherv, right_allgather, 1, 0, kAll, 1},
    {"allreduce", do_allreduce, right_allreduce, 8, 1, kAll, 1},
    {"reduce_scatter", do_reduce_scatter, right_reduce_scatter, 8, 1, kAll, 1},
    {"reduce_scatterv", do_reduce_scatterv, right_reduce_scatter, 8, 1, kAll, 1},
    {"neighbours", do_neighbours, right_neighbours, 1, 2, kAll, 0},
    {"barrier", do_barrier, NULL, 1, 1, kNobody, 1},
    {"broadcast", do_bcast, right_bcast, 1, 1, kOthers, 0},
    {"scatter", do_scatter, right_scatter, 1, 1, kAll, 0},
    {"scatterv", do_scatterv, right_scatter, 1, 1, kAll, 0},
    {"gather", do_gather, right_allgather, 1, 0, kRoot, 0},
    {"gatherv", do_gatherv, right_allgather, 1, 0, kRoot, 0},
    {"reduce", do_reduce, right_allreduce, 8, 1, kRoot, 0},
    {"scan", do_scan, right_scan, 8, 1, kAll, 0},
};

/* The collective that an argument names, and the kind of its counts; null: neither. */
static const struct Collective* find(const char* text) {
  const char* colon = strchr(text, ':');
  const size_t length = colon == NULL ? strlen(text) : (size_t)(colon - text);
  const struct Collective* found = NULL;
  for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; ++i) {
    const char* name = collectives[i].name;
    if (strlen(name) == length && strncmp(name, text, length) == 0) found = &collectives[i];
  }
  if (found == NULL || colon == NULL) return found;
  if (found->run != do_alltoallv) return NULL;
  if (strcmp(colon, ":one") == 0) {
    skew = kOne;
  } else if (strncmp(colon, ":random=", 8) == 0) {
    skew = kRandom;
    seed = strtoull(colon + 8, NULL, 10);
  } else {
    return NULL;
  }
  return found;
}

/* Both ends of a pair draw the same. */
static int pair_bytes(const struct Collective* collective, int from, int to) {
  if (collective->element_bytes == 8) return words * 8;
  if (skew == kOne) return from == 0 ? bytes : 0;
  if (skew != kRandom) return bytes;
  uint64_t mixed = seed * 0x9e3779b97f4a7c15u + (uint64_t)from * (uint64_t)ranks + (uint64_t)to + 1;
  for (int i = 0; i < 3; ++i) mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9u;
  return (int)((mixed >> 16) % (2 * (uint64_t)bytes + 1));
}

static void take_buffers(size_t sent, size_t received) {
  out_bytes = received;
  if (most_in_flight > 1) received *= (size_t)most_in_flight;
  if ((sends_static && sent > kMostStatic) || (receives_static && received > kMostStatic)) {
    fprintf(stderr, "--static: buffers of %zu and %zu bytes; at most %d\n", sent, received,
            kMostStatic);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  in_bytes = sent;
  in = sends_static ? static_in : malloc(sent + 1);
  outputs = receives_static ? memset(static_out, 0, received) : calloc(received + 1, 1);
  out = outputs;
}

static void give_back_buffers(void) {
  if (!sends_static) free(in);
  if (!receives_static) free(outputs);
}

/* Says where blocks lie, and fills the input. */
static void lay_out(const struct Collective* collective, size_t size) {
  bytes = (int)size;
  words = (int)((size + 7) / 8);
  size_t sent = 0, received = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    sends.bytes[peer] = pair_bytes(collective, rank, peer);
    receives.bytes[peer] = pair_bytes(collective, peer, rank);
    sends.at[peer] = (int)sent;
    receives.at[peer] = (int)received;
    types[peer] = MPI_BYTE;
    words_of_each[peer] = words;
    sent += (size_t)sends.bytes[peer];
    received += (size_t)receives.bytes[peer];
  }
  take_buffers(sent, received);
  for (int peer = 0; peer < ranks; ++peer) {
    unsigned char* block = in + sends.at[peer];
    for (int at = 0; at < sends.bytes[peer] / collective->element_bytes; ++at) {
      const uint64_t element = value(rank, peer, (size_t)at);
      if (collective->element_bytes == 1) {
        block[at] = (unsigned char)element;
      } else {
        memcpy(block + at * 8, &element, sizeof element);
      }
    }
  }
}

static void check(const struct Collective* collective) {
  if (collective->takes == kNobody || (collective->takes == kRoot && rank != 0) ||
      (collective->takes == kOthers && rank == 0)) {
    return;
  }
  const int blocks = collective->output_blocks == 0 ? ranks : collective->output_blocks;
  for (int block = 0; block < blocks; ++block) {
    const unsigned char* got = out + receives.at[block];
    for (int at = 0; at < receives.bytes[block] / collective->element_bytes; ++at) {
      const uint64_t right = collective->right(block, (size_t)at);
      if (collective->element_bytes == 1 ? got[at] == (unsigned char)right
                                         : memcmp(got + at * 8, &right, 8) == 0) {
        continue;
      }
      fprintf(stderr, "%s: rank %d: wrong element %d of block %d, blocks of %d bytes\n",
              collective->name, rank, at, block, bytes);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

/* Writes the same, so that the lines are in this core's caches alone. */
static void write_anew(void) {
  volatile unsigned char* const bytes_sent = in;
  for (size_t at = 0; at < in_bytes; at += 32) bytes_sent[at] = bytes_sent[at];
}

static void run_next(const struct Collective* collective) {
  collective->run();
  if (rotates) root = (root + 1) % ranks;
}

static double seconds_of(const struct Collective* collective, int calls) {
  double seconds = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const int has_untimed =
      is_fresh || barriers == kAlways || (barriers == kUntimed && !collective->waits_for_all);
  if (!has_untimed) {
    const int has_barriers = !collective->waits_for_all && barriers == kTimed;
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) {
      run_next(collective);
      if (has_barriers) MPI_Barrier(MPI_COMM_WORLD);
    }
    wait_for_all();
    return MPI_Wtime() - begin;
  }
  for (int i = 0; i < calls; ++i) {
    if (is_fresh) {
      write_anew();
      MPI_Barrier(MPI_COMM_WORLD);
    }
    const double begin = MPI_Wtime();
    run_next(collective);
    seconds += MPI_Wtime() - begin;
    if (!is_fresh) MPI_Barrier(MPI_COMM_WORLD);
  }
  wait_for_all();
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

static void measure(const struct Collective* collective, const char* size, int repeats,
                    double batch_seconds) {
  lay_out(collective, strtoull(size, NULL, 10));
  collective->run();
  wait_for_all();
  check(collective);
  const int calls = calls_for(collective, batch_seconds);
  if (rank == 0) printf("%s", size);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    double mine = seconds_of(collective, calls) / calls * 1e6, figure;
    const int is_mean = barriers == kAlways;
    MPI_Reduce(&mine, &figure, 1, MPI_DOUBLE, is_mean ? MPI_SUM : MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf(" %.3f", is_mean ? figure / ranks : figure);
  }
  if (rank == 0) {
    printf("\n");
    fflush(stdout);
  }
  if (rotates) {
    root = 0;
    collective->run();
    wait_for_all();
  }
  check(collective);
  give_back_buffers();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (; argc > 1 && strncmp(argv[1], "--", 2) == 0; --argc, ++argv) {
    if (strcmp(argv[1], "--static=both") == 0) sends_static = receives_static = 1;
    if (strcmp(argv[1], "--static=send") == 0) sends_static = 1;
    if (strcmp(argv[1], "--static=receive") == 0) receives_static = 1;
    if (strcmp(argv[1], "--fresh") == 0) is_fresh = 1;
    if (strcmp(argv[1], "--nonblocking") == 0) most_in_flight = 1;
    if (strncmp(argv[1], "--nonblocking=", 14) == 0) most_in_flight = atoi(argv[1] + 14);
    if (strcmp(argv[1], "--rotate") == 0) rotates = 1;
    if (strcmp(argv[1], "--barriers=timed") == 0) barriers = kTimed;
    if (strcmp(argv[1], "--barriers=none") == 0) barriers = kNoBarriers;
    if (strcmp(argv[1], "--barriers=all") == 0) barriers = kAlways;
  }
  const struct Collective* collective = argc < 5 ? NULL : find(argv[1]);
  if (collective == NULL || most_in_flight < 0 || most_in_flight > kMostInFlight) {
    if (rank == 0) {
      fprintf(
          stderr,
          "usage: mpi_collective [--static=both|send|receive] [--fresh] [--nonblocking[=1..64]] "
          "[--rotate] [--barriers=untimed|timed|none|all] NAME REPEATS MILLISECONDS BYTES...\n");
    }
    MPI_Finalize();
    return 2;
  }
  int* memory = calloc(5 * (size_t)ranks, sizeof *memory);
  sends = (struct Blocks){memory, memory + ranks};
  receives = (struct Blocks){memory + 2 * ranks, memory + 3 * ranks};
  words_of_each = memory + 4 * ranks;
  types = malloc((size_t)ranks * sizeof *types);
  for (int arg = 4; arg < argc; ++arg) {
    measure(collective, argv[arg], atoi(argv[2]), atof(argv[3]) / 1000);
  }
  free(types);
  free(memory);
  MPI_Finalize();
  return 0;
}
