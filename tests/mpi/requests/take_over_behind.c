/* take_over_behind: on each of many communicators rank 0 starts an alltoall behind an alltoallv
   that is pending there, as its ranks agree on something, and the others have waited for the
   alltoallv before. Weft takes over at another of the calls on each communicator; it must be the
   same one on all ranks. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/program/check.h"

enum { kCommunicators = 48, kBytes = 32 << 10, kMostRanks = 16, kAfter = 4 };

static char *in, *out;
static int rank, ranks;

static void alltoall(MPI_Comm comm, int call, MPI_Request* request) {
  for (int i = 0; i < ranks; ++i) in[(size_t)i * kBytes] = (char)(call + rank * 3 + i);
  MPI_Ialltoall(in, kBytes, MPI_CHAR, out, kBytes, MPI_CHAR, comm, request);
}

static void end_alltoall(int call, MPI_Request* request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  for (int i = 0; i < ranks; ++i) {
    expect(out[(size_t)i * kBytes] == (char)(call + i * 3 + rank), "alltoall %d from %d", call, i);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  in = calloc((size_t)ranks, kBytes);
  out = calloc((size_t)ranks, kBytes);
  int counts[kMostRanks], places[kMostRanks];
  char sent[kMostRanks], received[kMostRanks];
  memset(sent, rank, sizeof sent);
  for (int i = 0; i < ranks; ++i) counts[i] = 1, places[i] = i;
  for (int before = 0; before < kCommunicators; ++before) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Request requests[2];
    for (int call = 0; call < before; ++call) {
      alltoall(comm, call, &requests[0]);
      end_alltoall(call, &requests[0]);
    }
    for (int turn = 0; turn < 2; ++turn) {
      MPI_Ialltoallv(sent, counts, places, MPI_CHAR, received, counts, places, MPI_CHAR, comm,
                     &requests[0]);
      if (rank != 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      alltoall(comm, turn, &requests[1]);
      if (rank == 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      end_alltoall(turn, &requests[1]);
      for (int i = 0; i < ranks; ++i) expect(received[i] == (char)i, "alltoallv from %d", i);
    }
    for (int call = 0; call < kAfter; ++call) {
      alltoall(comm, call, &requests[0]);
      end_alltoall(call, &requests[0]);
    }
    MPI_Comm_free(&comm);
  }
  free(in), free(out);
  return finish();
}
