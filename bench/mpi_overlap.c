/* How much of a nonblocking collective a program's own work hides: a plain MPI program that knows
   nothing of weft, to be run as it is and with an add-on preloaded.

   As IMB-NBC and OSU's benchmarks of nonblocking collectives do it: the time of a call that is
   waited for at once; then the same with work between start and wait that takes as long by itself,
   without a call of MPI in it, or with `tests` calls of MPI_Test spread over it. All figures are
   means of the slowest rank. Overlap is 100 % where the total is the longer of the two:

     overlap = (communication + work - total) / min(communication, work)

   Usage: mpi_overlap COLLECTIVE BYTES [REPEATS [TESTS]]; COLLECTIVE is alltoall, allgather,
   allreduce or bcast, BYTES those of a block or vector. Every answer is checked. Rank 0 prints one
   line: bytes, microseconds of communication, work and total, overlap in percent. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, words, repeats = 50, tests;
static enum { kAlltoall, kAllgather, kAllreduce, kBcast } collective;
static uint64_t *in, *out;

static void fill(uint64_t round) {
  for (int i = 0; i < words * ranks; ++i) in[i] = round * 1000003 + (uint64_t)(rank * 7 + i);
  memset(out, 0, sizeof *out * (size_t)(words * ranks));
  if (collective == kBcast && rank == 0) memcpy(out, in, sizeof *out * (size_t)words);
}

static void start(MPI_Request* request) {
  switch (collective) {
    case kAlltoall:
      MPI_Ialltoall(in, words, MPI_UINT64_T, out, words, MPI_UINT64_T, MPI_COMM_WORLD, request);
      break;
    case kAllgather:
      MPI_Iallgather(in, words, MPI_UINT64_T, out, words, MPI_UINT64_T, MPI_COMM_WORLD, request);
      break;
    case kAllreduce:
      MPI_Iallreduce(in, out, words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, request);
      break;
    case kBcast:
      MPI_Ibcast(out, words, MPI_UINT64_T, 0, MPI_COMM_WORLD, request);
  }
}

static void check(uint64_t round) {
  const int blocks = collective <= kAllgather ? ranks : 1;
  const uint64_t base = round * 1000003;
  for (int from = 0; from < blocks; ++from) {
    for (int i = 0; i < words; ++i) {
      uint64_t right = base + (uint64_t)(from * 7 + i);
      if (collective == kAlltoall) right += (uint64_t)(words * rank);
      if (collective == kAllreduce)
        right = (base + (uint64_t)i) * (uint64_t)ranks + (uint64_t)(7 * ranks * (ranks - 1) / 2);
      if (out[from * words + i] == right) continue;
      fprintf(stderr, "mpi_overlap: rank %d has a wrong word %d from %d\n", rank, i, from);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

/* Work on few bytes, in the cache: `rounds` of it. */
static volatile double sink;
static void work(long rounds) {
  double x = 1.0;
  for (long i = 0; i < rounds; ++i) x = x * 0.999999 + 0.5;
  sink = x;
}

/* Rounds of work that take `seconds`. */
static long rounds_for(double seconds) {
  const long probe = 1000000;
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double begin = MPI_Wtime();
    work(probe);
    const double time = MPI_Wtime() - begin;
    if (time < best) best = time;
  }
  return (long)(seconds / best * (double)probe) + 1;
}

/* Seconds of a call with `rounds` of work after its start, of the slowest rank. */
static double time_calls(long rounds) {
  double all = 0, most = 0;
  for (int i = 0; i < repeats; ++i) {
    MPI_Request request;
    fill((uint64_t)i);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    start(&request);
    if (rounds > 0) {
      for (int part = 0; part <= tests; ++part) {
        int done = 0;
        work(rounds / (tests + 1));
        if (part < tests) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      }
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    all += MPI_Wtime() - begin;
    check((uint64_t)i);
  }
  all /= repeats;
  MPI_Allreduce(&all, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

int main(int argc, char** argv) {
  static const char* const names[] = {"alltoall", "allgather", "allreduce", "bcast"};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int known = 0;
  for (int i = 0; argc > 2 && i < 4; ++i) {
    if (strcmp(argv[1], names[i]) != 0) continue;
    collective = i;
    known = 1;
  }
  if (!known) {
    if (rank == 0) fprintf(stderr, "mpi_overlap: COLLECTIVE BYTES [REPEATS [TESTS]]\n");
    MPI_Finalize();
    return 2;
  }
  words = (atoi(argv[2]) + 7) / 8;
  if (argc > 3) repeats = atoi(argv[3]);
  if (argc > 4) tests = atoi(argv[4]);
  in = malloc(sizeof *in * (size_t)(words * ranks));
  out = malloc(sizeof *out * (size_t)(words * ranks));
  time_calls(0); /* set-up */
  const double communication = time_calls(0);
  const long rounds = rounds_for(communication);
  double mine = MPI_Wtime(), alone = 0;
  for (int i = 0; i < repeats; ++i) work(rounds);
  mine = (MPI_Wtime() - mine) / repeats;
  MPI_Allreduce(&mine, &alone, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const double total = time_calls(rounds);
  const double least = communication < alone ? communication : alone;
  double overlap = 100 * (communication + alone - total) / least;
  if (overlap < 0) overlap = 0;
  if (overlap > 100) overlap = 100;
  if (rank == 0) {
    printf("%s %d bytes: communication %.1f us, work %.1f us, total %.1f us, overlap %.0f %%\n",
           argv[1], words * 8, 1e6 * communication, 1e6 * alone, 1e6 * total, overlap);
  }
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
