/* Times MPI_Alltoall, as the program's MPI gives it: a plain MPI program that knows nothing of
   weft, to be run as it is and with an add-on preloaded.

   For each size: warm-up, then `repeats` batches of back-to-back calls (as the OSU benchmark makes
   them). A batch's figure is its time on the slowest rank over its calls. Rank 0 prints one line a
   size: bytes, then the figures of all batches in microseconds. Every answer is checked once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char value(int from, int to, size_t at) {
  return (char)(from * 31 + to * 7 + (int)at * 3);
}

static void check(const char* buffer, size_t block, int rank, int ranks) {
  for (int from = 0; from < ranks; ++from) {
    for (size_t at = 0; at < block; ++at) {
      if (buffer[(size_t)from * block + at] != value(from, rank, at)) {
        fprintf(stderr, "rank %d: wrong byte %zu from %d, blocks of %zu\n", rank, at, from, block);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 4) {
    if (rank == 0) fprintf(stderr, "usage: mpi_alltoall REPEATS MILLISECONDS BYTES...\n");
    MPI_Finalize();
    return 2;
  }
  const int repeats = atoi(argv[1]);
  const double batch_seconds = atof(argv[2]) / 1000;
  for (int arg = 3; arg < argc; ++arg) {
    const size_t block = strtoull(argv[arg], NULL, 10);
    char* in = malloc(block * (size_t)ranks);
    char* out = malloc(block * (size_t)ranks);
    for (int to = 0; to < ranks; ++to) {
      for (size_t at = 0; at < block; ++at) in[(size_t)to * block + at] = value(rank, to, at);
    }
    memset(out, 0, block * (size_t)ranks);
    MPI_Alltoall(in, (int)block, MPI_BYTE, out, (int)block, MPI_BYTE, MPI_COMM_WORLD);
    check(out, block, rank, ranks);
    /* As many calls a batch as fill its time, by rank 0's measure. */
    int calls = 1;
    for (;;) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      for (int i = 0; i < calls; ++i) {
        MPI_Alltoall(in, (int)block, MPI_BYTE, out, (int)block, MPI_BYTE, MPI_COMM_WORLD);
      }
      int enough = MPI_Wtime() - begin > batch_seconds || calls > 1000000;
      MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
      if (enough) break;
      calls *= 2;
    }
    if (rank == 0) printf("%zu", block);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      for (int i = 0; i < calls; ++i) {
        MPI_Alltoall(in, (int)block, MPI_BYTE, out, (int)block, MPI_BYTE, MPI_COMM_WORLD);
      }
      double mine = (MPI_Wtime() - begin) / calls * 1e6, slowest;
      MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (rank == 0) printf(" %.3f", slowest);
    }
    if (rank == 0) {
      printf("\n");
      fflush(stdout);
    }
    check(out, block, rank, ranks);
    free(in);
    free(out);
  }
  MPI_Finalize();
  return 0;
}
