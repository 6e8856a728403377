/* Communicators whose last user is a message: it ends while its ranks are in collectives on another
   communicator, and with it the communicator, in the middle of these. */
#include "tests/mpi/program/check.h"

enum { kRounds = 30, kInts = 1 << 18, kCalls = 40 };

int main(int argc, char** argv) {
  int rank;
  int* data = calloc(kInts, sizeof *data);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm comm;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    expect_ints_arrive(comm, 10, "before the message");
    if (rank == 0) {
      data[0] = data[kInts - 1] = round + 1;
      MPI_Isend(data, kInts, MPI_INT, 1, 5, comm, &request);
      MPI_Request_free(&request);
    } else if (rank == 1) {
      MPI_Irecv(data, kInts, MPI_INT, 0, 5, comm, &request);
    }
    MPI_Comm_free(&comm);
    for (int i = 0; i < kCalls; ++i) expect_ints_arrive(MPI_COMM_WORLD, 10, "meanwhile");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(rank != 1 || (data[0] == round + 1 && data[kInts - 1] == round + 1), "round %d: got %d",
           round, data[0]);
    /* The sender's buffer is free again. */
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(data);
  return finish();
}
