/* See outside.c. */
#include "tests/mpi/program/check.h"

int run(void);

int run(void) {
  MPI_Init(NULL, NULL);
  expect_ints_arrive(MPI_COMM_WORLD, 3, "MPI opened late");
  return finish();
}
