/* What programs may do, and few do: arguments that mean nothing at a rank, blocks of nothing, types
 * that begin before their buffer, and communicators and handles that go while calls are under way.
 * Answers are known. */
#include "tests/mpi/program/check.h"

enum { kMost = 16 }; /* ranks */

static int rank, size;

/* At other ranks than the root buffers, counts and types of the other side mean nothing. */
static void check_meaningless_arguments(void) {
  const int root = size - 1, garbage = -7;
  int all[kMost], counts[kMost], places[kMost];
  for (int i = 0; i < size; ++i) {
    counts[i] = 1;
    places[i] = size - 1 - i; /* turned round */
    all[i] = 100 + i;
  }
  int mine = rank * 3;
  if (rank == root) {
    all[root] = mine;
    MPI_Gather(MPI_IN_PLACE, garbage, MPI_DATATYPE_NULL, all, 1, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) expect(all[i] == 3 * i, "gather: %d from %d", all[i], i);
    all[places[root]] = mine;
    MPI_Gatherv(MPI_IN_PLACE, garbage, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, root,
                MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) expect(all[places[i]] == 3 * i, "gatherv: rank %d", i);
    MPI_Scatterv(all, counts, places, MPI_INT, MPI_IN_PLACE, garbage, MPI_DATATYPE_NULL, root,
                 MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) all[i] = 5 * i;
    MPI_Scatter(all, 1, MPI_INT, MPI_IN_PLACE, garbage, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    MPI_Reduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    expect(mine == 3 * size * (size - 1) / 2, "reduce: %d", mine);
  } else {
    MPI_Gather(&mine, 1, MPI_INT, NULL, garbage, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    MPI_Gatherv(&mine, 1, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    int got = -1;
    MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, &got, 1, MPI_INT, root, MPI_COMM_WORLD);
    expect(got == 3 * rank, "scatterv: %d", got);
    MPI_Scatter(NULL, garbage, MPI_DATATYPE_NULL, &got, 1, MPI_INT, root, MPI_COMM_WORLD);
    expect(got == 5 * rank, "scatter: %d", got);
    MPI_Reduce(&mine, NULL, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  }
}

/* Calls of nothing, from nowhere; and blocks of which some are empty. */
static void check_nothing(void) {
  int none[kMost] = {0}, zeros[kMost] = {0}, some[kMost] = {0};
  MPI_Datatype types[kMost];
  for (int i = 0; i < size; ++i) types[i] = MPI_DOUBLE;
  MPI_Datatype empty;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  int guard = 42;
  MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(&guard, 5, empty, 0, MPI_COMM_WORLD);
  MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(&guard, 3, empty, some, 3, empty, MPI_COMM_WORLD);
  MPI_Alltoallv(NULL, none, none, MPI_INT, NULL, zeros, none, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallw(NULL, none, none, types, NULL, zeros, none, types, MPI_COMM_WORLD);
  MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgatherv(NULL, 0, MPI_INT, NULL, zeros, none, MPI_INT, MPI_COMM_WORLD);
  MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Scatter(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter(NULL, NULL, none, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  /* Everything goes to the last rank. */
  int got = -1, sent[kMost], all[kMost];
  for (int i = 0; i < size; ++i) sent[i] = rank + i;
  some[size - 1] = 1;
  MPI_Reduce_scatter(sent, &got, some, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(got == (rank == size - 1 ? size * (size - 1) / 2 : -1), "reduce_scatter: %d", got);
  for (int i = 0; i < size; ++i) all[i] = -1;
  MPI_Allgatherv(&rank, rank == size - 1 ? 1 : 0, MPI_INT, all, some, none, MPI_INT,
                 MPI_COMM_WORLD);
  expect(all[0] == size - 1 && all[size - 1] == (size == 1 ? 0 : -1), "allgatherv of one block");
  expect(guard == 42, "nothing was to be written");
  MPI_Type_free(&empty);
}

/* Elements that begin before their buffer, in the reverse order; one block sent to all. */
static void check_displacements(void) {
  MPI_Datatype back, turned;
  const int one = 1;
  const MPI_Aint before = -(MPI_Aint)sizeof(int);
  MPI_Type_create_hindexed(1, &one, &before, MPI_INT, &back);
  MPI_Type_create_resized(back, before, before, &turned);
  MPI_Type_commit(&turned);
  int send[kMost], got[kMost + 1] = {0}, counts[kMost], same[kMost] = {0}, places[kMost];
  for (int i = 0; i < size; ++i) send[i] = 10 * rank + i;
  /* The first block is the last integer. */
  MPI_Alltoall(send + size, 1, turned, got, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) {
    expect(got[i] == 10 * i + size - 1 - rank, "turned alltoall: %d from %d", got[i], i);
  }
  for (int i = 0; i < size; ++i) {
    counts[i] = 1;
    places[i] = size - i; /* none at the beginning */
  }
  got[0] = -5;
  MPI_Alltoallv(send, counts, same, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) expect(got[size - i] == 10 * i, "alltoallv of one block to all");
  expect(got[0] == -5, "alltoallv wrote before its blocks");
  /* What an exscan leaves on rank 0 is not said: nobody writes there. */
  int sum = -9;
  MPI_Exscan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == (rank == 0 ? -9 : rank * (rank - 1) / 2), "exscan: %d", sum);
  MPI_Type_free(&turned);
  MPI_Type_free(&back);
}

static void add(void* from, void* to, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)to)[i] += ((int*)from)[i];
}

/* Communicators, operations and types that are freed while calls with them are under way, on
 * communicators that come and go. */
static void check_storm(void) {
  enum { kCalls = 16 };
  MPI_Request requests[3 * kCalls];
  MPI_Status statuses[3 * kCalls];
  static int sums[kCalls], parts[kCalls];
  int n = 0;
  for (int i = 0; i < kCalls; ++i) {
    MPI_Comm copy, part;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Op sum;
    MPI_Op_create(add, 1, &sum);
    MPI_Datatype own;
    MPI_Type_contiguous(1, MPI_INT, &own);
    MPI_Type_commit(&own);
    sums[i] = rank + i;
    parts[i] = rank;
    MPI_Iallreduce(MPI_IN_PLACE, &sums[i], 1, own, sum, copy, &requests[n++]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[n++]);
    /* While the two are pending on the parents. */
    MPI_Comm_split(i % 3 == 0 ? copy : MPI_COMM_WORLD, rank % 2, -rank, &part);
    MPI_Ibcast(&parts[i], 1, MPI_INT, 0, part, &requests[n++]);
    MPI_Comm_free(&part);
    MPI_Op_free(&sum);
    MPI_Type_free(&own);
    MPI_Comm_free(&copy);
    if (i % 8 == 7) {
      MPI_Waitall(n, requests, statuses);
      n = 0;
    }
  }
  /* The first of a part is its last rank. */
  const int first = (size - 1) % 2 == rank % 2 ? size - 1 : size - 2;
  for (int i = 0; i < kCalls; ++i) {
    expect(sums[i] == size * (size - 1) / 2 + size * i, "storm: sum %d is %d", i, sums[i]);
    expect(parts[i] == first, "storm: part %d has %d", i, parts[i]);
  }
}

static void check_barriers(void) {
  enum { kMany = 60 };
  MPI_Request requests[kMany];
  MPI_Status statuses[kMany];
  for (int i = 0; i < kMany; ++i) MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]);
  int one = rank, two = 5;
  MPI_Reduce_local(&one, &two, 1, MPI_INT, MPI_SUM);
  expect(two == rank + 5, "reduce_local beside pending calls: %d", two);
  MPI_Waitall(kMany, requests, statuses);
  for (int i = 0; i < kMany; ++i) {
    MPI_Request request;
    int is_over = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (i % 2) MPI_Barrier(MPI_COMM_WORLD);
    while (!is_over) MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    expect(request == MPI_REQUEST_NULL, "a barrier that is over has a request");
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMost) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 0; i < 2; ++i) {
    check_meaningless_arguments();
    check_nothing();
    check_displacements();
    check_storm();
    check_barriers();
  }
  return finish();
}
