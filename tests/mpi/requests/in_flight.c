/* in_flight ROUNDS CALLS [RANK]: rounds of so many nonblocking collectives that are under way at a
   time, short ones and long ones; but RANK waits for each of them before it starts the next. */
#include <stdlib.h>

#include "tests/mpi/program/check.h"

enum { kMostCalls = 16, kMostInts = 2000, kMostRanks = 16 };

static int in[kMostCalls][kMostInts], out[kMostCalls][kMostInts];

static int value(int from, int call, int round, int i) {
  return from * 7919 + call * 101 + round * 13 + i;
}

/* Starts call `number`, of a kind that its number says. */
static MPI_Request start(int number, int ints) {
  MPI_Request request;
  switch (number % 3) {
    case 0:
      MPI_Iallreduce(in[number], out[number], ints, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
      break;
    case 1:
      MPI_Ibcast(in[number], ints, MPI_INT, 0, MPI_COMM_WORLD, &request);
      break;
    default:
      MPI_Ibarrier(MPI_COMM_WORLD, &request);
  }
  return request;
}

static void check(int number, int round, int ints) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int* const got = number % 3 == 0 ? out[number] : in[number];
  const int from = number % 3 == 0 ? size - 1 : 0;
  const int checked = number % 3 == 2 ? 0 : ints;
  int wrong = 0;
  for (int i = 0; i < checked; ++i) wrong += got[i] != value(from, number, round, i);
  expect(wrong == 0, "round %d, call %d of %d ints: %d wrong", round, number, ints, wrong);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  const int calls = argc > 2 ? atoi(argv[2]) : 1;
  const int alone = argc > 3 ? atoi(argv[3]) : -1;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 2000; ++i) MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < rounds; ++round) {
    const int ints = round % 10 == 9 ? kMostInts : 1 + round % 7;
    MPI_Request requests[kMostCalls];
    for (int i = 0; i < calls; ++i) {
      for (int at = 0; at < ints; ++at) in[i][at] = value(rank, i, round, at);
      requests[i] = start(i, ints);
      if (rank == alone) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < calls; ++i) check(i, round, ints);
  }
  return finish();
}
