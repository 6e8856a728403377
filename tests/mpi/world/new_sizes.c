/* new_sizes TIMES [long]: barriers until the take-over rule is due, then collectives of many sizes,
   each so many times: to and from ranks 1, 2 and 0, from the third time on to and from rank 0
   alone, and from the second time on with a barrier behind them. long: alltoalls of one size in
   their place, so long that ranks ask each other whether any of them packs, by an allreduce that
   has come before. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/program/check.h"

enum { kMostRanks = 8, kMostInts = 4096, kLongInts = 1 << 15 };

static int value(int from, int i) {
  return from * 7919 + i;
}

/* Whether `ints` ints are those of `from`. */
static int are_of(int from, const int* all, int ints) {
  int wrong = 0;
  for (int i = 0; i < ints; ++i) wrong += all[i] != value(from, i);
  return wrong == 0;
}

static int mine[kMostInts], theirs[kMostRanks * kMostInts];

static void call_with_root(int ints, int root) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < ints; ++i) mine[i] = value(rank, i);
  MPI_Reduce(mine, theirs, ints, MPI_INT, MPI_MIN, root, MPI_COMM_WORLD);
  expect(rank != root || are_of(0, theirs, ints), "reduce of %d ints to %d", ints, root);
  MPI_Gather(mine, ints, MPI_INT, theirs, ints, MPI_INT, root, MPI_COMM_WORLD);
  for (int from = 0; rank == root && from < size; ++from)
    expect(are_of(from, theirs + from * ints, ints), "gather of %d ints to %d", ints, root);
  MPI_Bcast(mine, ints, MPI_INT, root, MPI_COMM_WORLD);
  expect(are_of(root, mine, ints), "broadcast of %d ints of %d", ints, root);
}

static void call_without(int ints) {
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < ints; ++i) mine[i] = value(rank, i);
  MPI_Allreduce(mine, theirs, ints, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  expect(are_of(size - 1, theirs, ints), "allreduce of %d ints", ints);
  MPI_Allgather(mine, ints, MPI_INT, theirs, ints, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from)
    expect(are_of(from, theirs + from * ints, ints), "allgather of %d ints", ints);
}

static void call_long(void) {
  static int sent[kMostRanks * kLongInts], received[kMostRanks * kLongInts];
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < size * kLongInts; ++i) sent[i] = value(rank, i);
  MPI_Alltoall(sent, kLongInts, MPI_INT, received, kLongInts, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from) {
    int wrong = 0;
    for (int i = 0; i < kLongInts; ++i)
      wrong += received[from * kLongInts + i] != value(from, rank * kLongInts + i);
    expect(wrong == 0, "alltoall: %d ints of rank %d", wrong, from);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int times = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < 3000; ++i) MPI_Barrier(MPI_COMM_WORLD);
  const int is_long = argc > 2 && strcmp(argv[2], "long") == 0;
  for (int i = 0; is_long && i < 4; ++i) call_without(1);
  for (int i = 0; is_long && i < times; ++i) call_long();
  for (int ints = 4; !is_long && ints <= kMostInts; ints *= 2) {
    for (int time = 0; time < times; ++time) {
      call_without(ints);
      for (int root = 1; time < 2 && root <= 2; ++root) call_with_root(ints, root);
      call_with_root(ints, 0);
      if (time > 0) MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  return finish();
}
