/* The program changes its environment after MPI_Init: weft's settings stay what they were, in
 * set-ups that come later, too. */
#include "tests/mpi/program/check.h"

static void change(void) {
  setenv("WEFT_NODES", "nonsense", 1);
  setenv("WEFT_ALLTOALL", "nonsense", 1);
  setenv("WEFT_WAIT", "nonsense", 1);
  setenv("WEFT_DEVICE", "nonsense", 1);
  setenv("WEFT_VIEW", "nonsense", 1);
  setenv("WEFT_PROFILE", "nonsense", 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  change();
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int mine[16], theirs[16];
  for (int i = 0; i < size; ++i) mine[i] = 100 * rank + i;
  MPI_Alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) expect(theirs[i] == 100 * i + rank, "alltoall: %d", theirs[i]);
  MPI_Alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, comm);
  for (int i = 0; i < size; ++i) expect(theirs[i] == 100 * i + rank, "alltoall: %d", theirs[i]);
  MPI_Comm_free(&comm);
  return finish();
}
