/* The last rank moves to a network namespace of its own after MPI_Init, as a rank in another
 * container would be: the software device cannot reach it, though the program's MPI can. */
#define _GNU_SOURCE
#include <sched.h>

#include "tests/mpi/program/check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == size - 1) expect(unshare(CLONE_NEWNET) == 0, "unshare");
  for (int round = 0; round < 3; ++round) {
    int mine[16], theirs[16], sum = 0;
    for (int i = 0; i < size; ++i) mine[i] = 100 * rank + i;
    MPI_Alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) expect(theirs[i] == 100 * i + rank, "alltoall: %d", theirs[i]);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == size * (size - 1) / 2, "allreduce: %d", sum);
  }
  return finish();
}
