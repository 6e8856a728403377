/* crossed ROUNDS EVERY [KINDS]: collectives that some ranks leave early, on two communicators, in
   one order on these ranks and in the other order on all others. MPI forbids it, but as Open MPI
   does not wait where little is sent there are programs that do it. Each EVERY rounds, if it is not
   0, come collectives in which all ranks wait; -1: no such ones, and one order on all ranks. KINDS:
   only the first ones. */
#include <stdlib.h>

#include "tests/mpi/program/check.h"

enum { kMostRanks = 16, kMostInts = 300 };
enum Kind { kBcast, kScatter, kScatterv, kGather, kGatherv, kReduce, kScan, kExscan, kKinds };

struct Round {
  int number;
  enum Kind kind;
  int root;
  int ints;
};

static int value(const struct Round* round, int from, int to, int i) {
  return round->number * 1009 + from * 101 + to * 11 + i;
}

/* One call, and a check of what it gives. */
static void call(const struct Round* round, MPI_Comm comm) {
  static int mine[kMostRanks * kMostInts], theirs[kMostRanks * kMostInts];
  int counts[kMostRanks], places[kMostRanks];
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int root = round->root;
  const int ints = round->ints;
  for (int to = 0; to < size; ++to) {
    counts[to] = to % 2 == 0 ? ints : ints / 2 + 1;
    places[to] = to * ints;
    for (int i = 0; i < ints; ++i) mine[to * ints + i] = value(round, rank, to, i);
  }
  memset(theirs, -1, sizeof theirs);
  const int own = counts[rank];
  int wrong = 0;
  switch (round->kind) {
    case kBcast:
      MPI_Bcast(mine, ints, MPI_INT, root, comm);
      for (int i = 0; i < ints; ++i) wrong += mine[i] != value(round, root, 0, i);
      break;
    case kScatter:
      MPI_Scatter(mine, ints, MPI_INT, theirs, ints, MPI_INT, root, comm);
      for (int i = 0; i < ints; ++i) wrong += theirs[i] != value(round, root, rank, i);
      break;
    case kScatterv:
      MPI_Scatterv(mine, counts, places, MPI_INT, theirs, own, MPI_INT, root, comm);
      for (int i = 0; i < own; ++i) wrong += theirs[i] != value(round, root, rank, i);
      break;
    case kGather:
      MPI_Gather(mine, ints, MPI_INT, theirs, ints, MPI_INT, root, comm);
      for (int i = 0; rank == root && i < size * ints; ++i)
        wrong += theirs[i] != value(round, i / ints, 0, i % ints);
      break;
    case kGatherv:
      MPI_Gatherv(mine, own, MPI_INT, theirs, counts, places, MPI_INT, root, comm);
      for (int from = 0; rank == root && from < size; ++from)
        for (int i = 0; i < counts[from]; ++i)
          wrong += theirs[places[from] + i] != value(round, from, 0, i);
      break;
    default: {
      if (round->kind == kReduce) MPI_Reduce(mine, theirs, ints, MPI_INT, MPI_SUM, root, comm);
      if (round->kind == kScan) MPI_Scan(mine, theirs, ints, MPI_INT, MPI_SUM, comm);
      if (round->kind == kExscan) MPI_Exscan(mine, theirs, ints, MPI_INT, MPI_SUM, comm);
      const int terms = round->kind == kReduce ? size : rank + (round->kind == kScan);
      const int has_result = round->kind == kReduce ? rank == root : terms != 0;
      for (int i = 0; has_result && i < ints; ++i) {
        int right = 0;
        for (int from = 0; from < terms; ++from) right += value(round, from, 0, i);
        wrong += theirs[i] != right;
      }
    }
  }
  expect(wrong == 0, "round %d, kind %d: %d ints are wrong", round->number, round->kind, wrong);
}

static void call_with_all(MPI_Comm comm) {
  int one = 1, sum = 0, all[kMostRanks];
  int size;
  MPI_Comm_size(comm, &size);
  MPI_Barrier(comm);
  expect_ints_arrive(comm, 3, "alltoall");
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect(sum == size, "allreduce: %d of %d ranks", sum, size);
  MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm);
  MPI_Reduce_scatter_block(all, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect(sum == size, "reduce_scatter: %d of %d ranks", sum, size);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  const int every = argc > 2 ? atoi(argv[2]) : 0;
  const int most = argc > 3 ? atoi(argv[3]) : kKinds;
  const int sizes[] = {1, 200, 7, 60, 2, 30};
  int rank, size;
  MPI_Comm second;
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  MPI_Comm_rank(second, &rank);
  MPI_Comm_size(second, &size);
  for (int i = 0; i < rounds; ++i) {
    struct Round round = {.number = i, .kind = i % most, .root = i / 5 % size};
    round.ints = sizes[i / 40 % (int)(sizeof sizes / sizeof *sizes)];
    if (round.kind == kScan || round.kind == kExscan) round.root = 0;
    /* Who goes on. */
    const int crosses = every >= 0;
    const int sends =
        crosses && (rank == round.root) != (round.kind >= kGather && round.kind <= kReduce);
    if (sends) call(&round, second);
    call(&round, MPI_COMM_WORLD);
    if (!sends) call(&round, second);
    if (every <= 0 || i % every != every - 1) continue;
    call_with_all(MPI_COMM_WORLD);
    call_with_all(second);
  }
  MPI_Comm_free(&second);
  return finish();
}
