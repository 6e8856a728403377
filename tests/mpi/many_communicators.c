/* More communicators at once than weft serves: calls on the rest go to the host, on all ranks. */
#include "check.h"

enum { kComms = 280 };

int main(int argc, char** argv) {
  MPI_Comm comms[kComms];
  MPI_Init(&argc, &argv);
  for (int i = 0; i < kComms; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < kComms; ++i) expect_ints_arrive(comms[i], 2, "one of many communicators");
  }
  for (int i = 0; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  expect_ints_arrive(MPI_COMM_WORLD, 2, "the world after many communicators");
  return finish();
}
