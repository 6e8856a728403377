/* Calls that are known, for tests of the report.
 *
 *   report_calls nothing            no collective at all
 *   report_calls some [late]        known calls on MPI_COMM_WORLD, MPI_COMM_SELF and a half; with
 *                                   `late` the last rank comes late to each barrier
 *   report_calls abort              the same, then rank 1 calls MPI_Abort
 */
#include <time.h>

#include "tests/mpi/program/check.h"

enum { kCalls = 20, kBarriers = 5, kLate_ns = 20000000 };

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void some(int rank, int size, int is_late) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  char* in = malloc((size_t)size * 3000);
  char* out = malloc((size_t)size * 3000);
  memset(in, 1, (size_t)size * 3000);
  for (int call = 0; call < kCalls; ++call) {
    MPI_Alltoall(in, 16, MPI_CHAR, out, 16, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Alltoall(in, 3000, MPI_CHAR, out, 3000, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Allgather(in, 8, MPI_CHAR, out, 8, MPI_CHAR, half);
    MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  }
  for (int call = 0; call < kBarriers; ++call) {
    MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const double until = now_ns() + kLate_ns;
    while (is_late && rank == size - 1 && now_ns() < until) {
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(in);
  free(out);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_late = argc > 2 && strcmp(argv[2], "late") == 0;
  if (strcmp(argv[1], "nothing") != 0) some(rank, size, is_late);
  if (strcmp(argv[1], "abort") == 0) {
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD); /* until the launcher ends this rank */
  }
  MPI_Finalize();
  return 0;
}
