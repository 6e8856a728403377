/* MPI_Comm_free while the other rank computes: it waits for nobody. */
#include <time.h>

#include "tests/mpi/program/check.h"

enum { kComms = 4 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  MPI_Comm comms[kComms];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kComms; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    expect_ints_arrive(comms[i], 100, "before it is freed");
  }
  const double begin = seconds();
  /* The other rank comes when it hears that this one is through; it looks in no call of MPI. */
  if (rank != 0) {
    int word = 0;
    MPI_Recv(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  const double took = seconds() - begin;
  if (rank == 0) {
    expect(took < 0.5, "four communicators took %.3f s to free", took);
    int size, word = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < size; ++i) MPI_Send(&word, 1, MPI_INT, i, 3, MPI_COMM_WORLD);
  }
  expect_ints_arrive(MPI_COMM_WORLD, 100, "after the others were freed");
  return finish();
}
