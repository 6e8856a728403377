/* Times the first calls of a program, as its MPI gives them: a plain MPI program that knows nothing
   of weft, to be run as it is and with an add-on. Its argument says which; rank 0 prints, in us, on
   one line:

     small     the first allreduce of 8 bytes, the first 1,000 together, and the first 10,000
     long      after 4,000 barriers, alltoalls of 128 KiB for each rank: the first three, each by
               itself behind a barrier, and the median of the next 9

   Figures are those of the slowest rank. Buffers are written before each alltoall. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBarriers = 4000, kBlock = 128 << 10, kFirst = 3, kLater = 9 };

static int rank, ranks;

static double slowest(double seconds) {
  double most = 0;
  MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return 1e6 * most;
}

static void measure_small(void) {
  double times[3], one = 1, sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int calls = 1, number = 0; number < 3; ++calls) {
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (calls == 1 || calls == 1000 || calls == 10000) times[number++] = MPI_Wtime() - begin;
  }
  for (int i = 0; i < 3; ++i) {
    const double most = slowest(times[i]);
    if (rank == 0) printf("%.1f ", most);
  }
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void measure_long(void) {
  const size_t bytes = (size_t)ranks * kBlock;
  char *sent = malloc(bytes), *received = malloc(bytes);
  if (sent == NULL || received == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(received, 0, bytes);
  for (int i = 0; i < kBarriers; ++i) MPI_Barrier(MPI_COMM_WORLD);
  double times[kFirst + kLater];
  for (int call = 0; call < kFirst + kLater; ++call) {
    memset(sent, call + 1, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Alltoall(sent, kBlock, MPI_CHAR, received, kBlock, MPI_CHAR, MPI_COMM_WORLD);
    times[call] = MPI_Wtime() - begin;
    if (received[bytes - 1] != call + 1) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int call = 0; call < kFirst + kLater; ++call) times[call] = slowest(times[call]);
  qsort(times + kFirst, kLater, sizeof *times, by_value);
  for (int i = 0; rank == 0 && i < kFirst; ++i) printf("%.1f ", times[i]);
  if (rank == 0) printf("%.1f ", times[kFirst + kLater / 2]);
  free(received);
  free(sent);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* what = argc == 2 ? argv[1] : "";
  if (strcmp(what, "small") == 0) {
    measure_small();
  } else if (strcmp(what, "long") == 0) {
    measure_long();
  } else {
    if (rank == 0) fprintf(stderr, "bench_mpi_first_calls: '%s': not one of small, long\n", what);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (rank == 0) printf("\n");
  return MPI_Finalize();
}
