/* Blocking collectives that are left to the host, on a communicator whose making weft has not seen,
 * while a nonblocking collective of another one is pending on some ranks and over on others. */
#include "tests/mpi/program/check.h"

enum { kRounds = 20 };

static int rank;

static void broadcast(MPI_Comm hosts, int round) {
  int word = rank == 1 ? 100 + round : -1;
  MPI_Bcast(&word, 1, MPI_INT, 1, hosts);
  expect(word == 100 + round, "round %d: %d arrives", round, word);
}

static void sum_up(MPI_Comm hosts, int round) {
  const int own = rank + round;
  int sum = -1;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, hosts);
  expect(sum == 2 * round + 1, "round %d: a sum of %d beside the call", round, sum);
}

/* Rank 0 waits for the nonblocking call in front of the blocking one, or starts it behind. */
static void one_round(MPI_Comm comm, MPI_Comm hosts, int round, int behind,
                      void (*blocking)(MPI_Comm, int)) {
  const int one = 1;
  int sum = 0;
  MPI_Request request;
  if (rank == 0 && behind) blocking(hosts, round);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  if (rank == 0 && !behind) MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1 || !behind) blocking(hosts, round);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(sum == 2, "round %d: a sum of %d", round, sum);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm, hosts;
  MPI_Request request;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_idup(MPI_COMM_WORLD, &hosts, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* a set-up is pending longer */
    one_round(comm, hosts, round, 0, round % 2 ? broadcast : sum_up);
    one_round(comm, hosts, round, 0, round % 2 ? sum_up : broadcast);
    if (round == 0) one_round(comm, hosts, round, 1, broadcast);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free(&hosts);
  return finish();
}
