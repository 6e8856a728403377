/* Times MPI_Alltoall, and uses nothing but MPI.
 *
 *   mpirun -n 8 build/release/examples/time_alltoall 8 4096
 *
 * For each size of a block in bytes: calls in a row that take three tenths of a second or more,
 * three times; the figure is the median of the slowest rank's times, in microseconds a call. Every
 * rank checks every block that it receives, and the last line has a checksum of all of them.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBatches = 3, kUsage = 2, kMostBytes = 1 << 20 };

static const double kBatchSeconds = 0.3;

static int rank, ranks;

static unsigned char value(int from, int to, int at) {
  return (unsigned char)(131 * from + 17 * to + 5 * at);
}

/* Seconds that `calls` calls take on the slowest rank. */
static double time_calls(int calls, const void* in, void* out, int bytes) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i)
    MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
  const double mine = MPI_Wtime() - start;
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static int ascending(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

static double median_microseconds(const void* in, void* out, int bytes) {
  double seconds[kBatches];
  int calls = 1;
  time_calls(2, in, out, bytes); /* the first calls may set things up */
  while (time_calls(calls, in, out, bytes) < kBatchSeconds && calls < 1000000) calls *= 2;
  for (int i = 0; i < kBatches; ++i) seconds[i] = time_calls(calls, in, out, bytes);
  qsort(seconds, kBatches, sizeof seconds[0], ascending);
  return 1e6 * seconds[kBatches / 2] / calls;
}

/* Times one size. Adds the received values to `checksum`, and the number of wrong ones to `wrong`.
 */
static double measure(int bytes, uint64_t* checksum, int* wrong) {
  const size_t size = (size_t)bytes * (size_t)ranks;
  unsigned char *in = malloc(size), *out = malloc(size);
  if (in == NULL || out == NULL) {
    fprintf(stderr, "time_alltoall: no memory for two buffers of %zu bytes\n", size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int to = 0; to < ranks; ++to)
    for (int i = 0; i < bytes; ++i) in[(size_t)to * (size_t)bytes + (size_t)i] = value(rank, to, i);
  const double microseconds = median_microseconds(in, out, bytes);
  for (int from = 0; from < ranks; ++from)
    for (int i = 0; i < bytes; ++i) {
      const unsigned char arrived = out[(size_t)from * (size_t)bytes + (size_t)i];
      *wrong += arrived != value(from, rank, i);
      *checksum = 31 * *checksum + arrived;
    }
  free(in);
  free(out);
  return microseconds;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc || i == 1; ++i) {
    if (argc > 1 && atoi(argv[i]) >= 1 && atoi(argv[i]) <= kMostBytes) continue;
    if (rank == 0) fprintf(stderr, "usage: time_alltoall BYTES.. (1 to %d)\n", kMostBytes);
    MPI_Finalize();
    return kUsage;
  }
  uint64_t checksum = 0, sum = 0;
  int wrong = 0, all_wrong = 0;
  if (rank == 0) printf("{\"ranks\": %d, \"microseconds\": {", ranks);
  for (int i = 1; i < argc; ++i) {
    const int bytes = atoi(argv[i]);
    const double microseconds = measure(bytes, &checksum, &wrong);
    if (rank == 0) printf("%s\"%d\": %.3f", i > 1 ? ", " : "", bytes, microseconds);
  }
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  checksum *= 2 * (uint64_t)rank + 1; /* so that errors of ranks do not cancel out */
  MPI_Reduce(&checksum, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("}, \"checksum\": \"%016llx\", \"right\": %s}\n", (unsigned long long)sum,
           all_wrong == 0 ? "true" : "false");
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}
