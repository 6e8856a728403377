/* Persistent collectives of one communicator that each rank starts in an order of its own, and
 * between other collectives in places of its own: ranks have made them in one order, and that
 * matches them. Among them are broadcasts of one length and root, which nothing but their order
 * tells apart.
 *
 *   persistent_order [ROUNDS [SEED]] */
#include "tests/mpi/program/check.h"
#include "tests/mpi/program/persistent.h"

enum { kBroadcasts = 3, kSum = kBroadcasts, kBarrier, kAll, kInts = 50, kOthers = 4 };

static int given(int round, int which, int i) {
  return round * 7919 + which * 104729 + i;
}

static void shuffle(int* order, uint64_t* state) {
  for (int i = 0; i < kAll; ++i) order[i] = i;
  for (int i = kAll - 1; i > 0; --i) {
    const int other = below(state, i + 1), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

/* A collective that is not persistent; ranks call these in one order. */
static void call_other(int round, int which, int rank, int size) {
  int sent = given(round, kAll + which, rank), sum = 0, wanted = 0;
  if (which % 2 == 0) {
    MPI_Request request;
    MPI_Iallreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  for (int from = 0; from < size; ++from) wanted += given(round, kAll + which, from);
  expect(sum == wanted, "round %d: the sum beside them is %d, not %d", round, sum, wanted);
}

static void check(int round, int which, const int* values, int size) {
  int wrong = 0;
  for (int i = 0; i < kInts; ++i) {
    const int one = given(round, which, i);
    wrong += values[i] != (which == kSum ? one * size : one);
  }
  expect(wrong == 0, "round %d: %d ints of call %d are wrong", round, wrong, which);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 20;
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  uint64_t own = seed * 1000 + (uint64_t)rank;
  int values[kAll][kInts], sent[kInts], order[kAll];
  MPI_Request requests[kAll];
  for (int which = 0; which < kBroadcasts; ++which) {
    INIT(Bcast)(values[which], kInts, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[which]);
  }
  INIT(Allreduce)
  (sent, values[kSum], kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[kSum]);
  INIT(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[kBarrier]);
  for (int round = 0; round < rounds; ++round) {
    for (int which = 0; which < kBroadcasts; ++which) {
      for (int i = 0; i < kInts; ++i) values[which][i] = rank == 0 ? given(round, which, i) : -1;
    }
    for (int i = 0; i < kInts; ++i) sent[i] = given(round, kSum, i);
    shuffle(order, &own);
    for (int i = 0, others = 0; i < kAll || others < kOthers;) {
      if (i < kAll && (others == kOthers || below(&own, 2) == 0)) {
        MPI_Start(&requests[order[i++]]);
      } else {
        call_other(round, others++, rank, size);
      }
    }
    MPI_Waitall(kAll, requests, MPI_STATUSES_IGNORE);
    for (int which = 0; which <= kSum; ++which) check(round, which, values[which], size);
  }
  for (int which = 0; which < kAll; ++which) MPI_Request_free(&requests[which]);
  return finish();
}
