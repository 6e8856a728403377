/* Communicators made while a nonblocking call is pending on their parent, of which ranks find out
   late that it is the host's. Open MPI numbers a new communicator by nonblocking allreduces over
   the parent, which it begins in its progress engine: they must come to it behind that call on all
   ranks, also where the engine runs inside of weft. */
#include "tests/mpi/program/check.h"

enum { kRounds = 20, kMostRanks = 16 };

int main(int argc, char** argv) {
  int rank, size;
  int counts[kMostRanks], places[kMostRanks], sent[kMostRanks], got[kMostRanks];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm parent, made[2];
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    for (int i = 0; i < size; ++i) {
      counts[i] = 1;
      places[i] = i;
      sent[i] = 100 * rank + i;
      got[i] = -1;
    }
    /* At its second alltoallv ranks agree on the bytes of both. */
    MPI_Alltoallv(sent, counts, places, MPI_INT, got, counts, places, MPI_INT, parent);
    MPI_Ialltoallv(sent, counts, places, MPI_INT, got, counts, places, MPI_INT, parent,
                   &requests[0]);
    MPI_Comm_dup(parent, &made[0]);
    MPI_Ibarrier(parent, &requests[1]);
    MPI_Comm_split(parent, 0, -rank, &made[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; ++i) {
      expect(got[i] == 100 * i + rank, "round %d: %d from rank %d", round, got[i], i);
    }
    expect_ints_arrive(made[0], 1, "a duplicate");
    expect_ints_arrive(made[1], 1, "a communicator in reverse order");
    MPI_Comm_free(&made[0]);
    MPI_Comm_free(&made[1]);
    MPI_Comm_free(&parent);
  }
  return finish();
}
