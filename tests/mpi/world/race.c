/* race CALLS: so many broadcasts, alltoalls, allgathers and sums of integers of one size, halos of
   two sizes in turn, and sums of floating point of another one, whoever serves them. Prints nothing
   but mistakes. */
#include <stdlib.h>

#include "tests/mpi/program/check.h"

enum { kInts = 300 };

/* On a line, whose ends have one neighbour. */
static void halo(MPI_Comm line, int rank, int size, int call) {
  const int count = kInts / (1 + call % 2);
  int send[2 * kInts], receive[2 * kInts];
  for (int j = 0; j < 2 * count; ++j) {
    send[j] = rank * 3 + j / count + call;
    receive[j] = -1;
  }
  MPI_Neighbor_alltoall(send, count, MPI_INT, receive, count, MPI_INT, line);
  for (int j = 0; j < 2 * count; ++j) {
    const int peer = j < count ? rank - 1 : rank + 1;
    const int sent = peer * 3 + (j < count ? 1 : 0) + call;
    expect(receive[j] == (peer < 0 || peer == size ? -1 : sent), "halo %d: element %d is %d", call,
           j, receive[j]);
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 100;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm line;
  const int open_ends = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open_ends, 0, &line);
  int* send = malloc((size_t)size * kInts * sizeof *send);
  int* receive = malloc((size_t)size * kInts * sizeof *receive);
  for (int i = 0; i < calls; ++i) {
    for (int j = 0; j < size * kInts; ++j) send[j] = rank * 7 + j / kInts + i;
    MPI_Alltoall(send, kInts, MPI_INT, receive, kInts, MPI_INT, line);
    for (int j = 0; j < size * kInts; ++j)
      expect(receive[j] == j / kInts * 7 + rank + i, "alltoall %d: element %d is %d", i, j,
             receive[j]);
    halo(line, rank, size, i);
    MPI_Allgather(send, kInts, MPI_INT, receive, kInts, MPI_INT, line);
    for (int j = 0; j < size * kInts; ++j)
      expect(receive[j] == j / kInts * 7 + i, "allgather %d: element %d is %d", i, j, receive[j]);
    MPI_Allreduce(send, receive, kInts, MPI_INT, MPI_SUM, line);
    expect(receive[kInts - 1] == 7 * size * (size - 1) / 2 + size * i, "sum %d is %d", i,
           receive[kInts - 1]);
    double numbers[kInts * 2], sums[kInts * 2];
    for (int j = 0; j < kInts * 2; ++j) numbers[j] = rank + i;
    MPI_Allreduce(numbers, sums, kInts * 2, MPI_DOUBLE, MPI_SUM, line);
    expect(sums[7] == size * (size - 1) / 2 + size * i, "sum %d is %f", i, sums[7]);
    const int root = i % size;
    MPI_Bcast(send, kInts, MPI_INT, root, line);
    expect(send[kInts - 1] == root * 7 + i, "broadcast %d: %d arrives", i, send[kInts - 1]);
    MPI_Barrier(line);
  }
  MPI_Comm_free(&line);
  free(send);
  free(receive);
  return finish();
}
