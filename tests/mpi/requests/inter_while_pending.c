/* Inter-communicators made while the first nonblocking calls of other communicators are pending,
   for which ranks set weft up inside of the host. Open MPI numbers an inter-communicator by
   nonblocking reductions and broadcasts over each group, some of which it begins in its progress
   engine: they must be the host's on all ranks, also where the engine runs inside of weft. */
#include "tests/mpi/program/check.h"

enum { kRounds = 40 };

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_second = rank >= size / 2;
  const int first = is_second ? size / 2 : 0;
  const int here = is_second ? size - size / 2 : size / 2;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm local, other, inter, merged;
    MPI_Request requests[2];
    int sum = 0, sum_here = 0, mine = rank + round;
    MPI_Comm_split(MPI_COMM_WORLD, is_second, rank, &local);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, other, &requests[0]);
    MPI_Iallreduce(&mine, &sum_here, 1, MPI_INT, MPI_SUM, local, &requests[1]);
    /* Another leader of each group in each round. */
    const int leaders[2] = {round % (size / 2), size / 2 + round % (size - size / 2)};
    MPI_Intercomm_create(local, leaders[is_second] - first, MPI_COMM_WORLD, leaders[!is_second],
                         round, &inter);
    MPI_Intercomm_merge(inter, is_second, &merged);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(sum == size * (size - 1) / 2 + size * round, "round %d: a sum of %d", round, sum);
    const int sum_of_ranks = here * (first + first + here - 1) / 2;
    expect(sum_here == sum_of_ranks + here * round, "round %d: a sum of %d in the group", round,
           sum_here);
    expect_ints_arrive(merged, 1, "both groups");
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&other);
    MPI_Comm_free(&local);
  }
  return finish();
}
