/* Messages that are lost when their sender has gone on, and waits for who wants them: in a receive
 * of the host, or in a collective on another communicator. */
#include "tests/mpi/program/check.h"

enum { kRounds = 24 };
/* Of different tags: a rank that is ahead has sent both, and the first kind comes from any rank. */
enum { kToRoot = 5, kToLast = 6 };

/* What `root` has broadcast arrives before `root` hears so. */
static void wait_in_receive(MPI_Comm comm, int root, int round) {
  int rank, size, word, token = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  word = rank == root ? 1000 + round : -1;
  MPI_Bcast(&word, 1, MPI_INT, root, comm);
  expect(word == 1000 + round, "round %d: %d arrives on rank %d", round, word, rank);
  if (rank != root) MPI_Send(&token, 1, MPI_INT, root, kToRoot, comm);
  for (int i = 1; rank == root && i < size; ++i)
    MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, kToRoot, comm, MPI_STATUS_IGNORE);
}

/* Rank 0 waits for the last rank, which waits for all others to have what rank 0 has broadcast. */
static void wait_in_collective(MPI_Comm comm, MPI_Comm ends, int round) {
  int rank, size, word, token = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  word = rank == 0 ? 2000 + round : -1;
  MPI_Bcast(&word, 1, MPI_INT, 0, comm);
  expect(word == 2000 + round, "round %d: %d arrives on rank %d", round, word, rank);
  if (rank != 0 && rank != size - 1) MPI_Send(&token, 1, MPI_INT, size - 1, kToLast, comm);
  for (int i = 1; rank == size - 1 && i < size - 1; ++i)
    MPI_Recv(&token, 1, MPI_INT, i, kToLast, comm, MPI_STATUS_IGNORE);
  if (ends == MPI_COMM_NULL) return;
  int sum = 0;
  MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, ends);
  expect(sum == 2 * (2000 + round), "round %d: a wrong sum", round);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Comm comms[2], ends;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == size - 1 ? 0 : MPI_UNDEFINED, rank, &ends);
  for (int round = 0; round < kRounds; ++round) {
    wait_in_receive(comms[round % 2], round % size, round);
    wait_in_collective(comms[round % 2], ends, round);
  }
  if (ends != MPI_COMM_NULL) MPI_Comm_free(&ends);
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
  return finish();
}
