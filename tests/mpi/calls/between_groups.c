/* Collectives on inter-communicators, which go to the host whatever their form is; what one group
 * gives arrives in the other. Groups of different sizes.
 *
 *     between_groups [ROUNDS] */
#include "tests/mpi/program/check.h"

enum { kMost = 64 };

static int rank, size, own, locals, remotes, side;
static MPI_Comm inter;

static int given(int from_side, int from, int to) {
  return from_side * 10000 + from * 100 + to;
}

static void expect_row(const int* got, int count, const char* what) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += got[i] != given(1 - side, i, own);
  expect(wrong == 0, "%s between groups: %d of %d are wrong", what, wrong, count);
}

/* Each rank has a number for each of the other group. */
static void blocks_to_each(void) {
  int send[kMost], got[kMost], counts[kMost], places[kMost], bytes[kMost];
  MPI_Datatype types[kMost];
  for (int i = 0; i < remotes; ++i) {
    send[i] = given(side, own, i);
    counts[i] = 1;
    places[i] = i;
    bytes[i] = i * (int)sizeof(int);
    types[i] = MPI_INT;
  }
  memset(got, 255, sizeof got);
  MPI_Alltoall(send, 1, MPI_INT, got, 1, MPI_INT, inter);
  expect_row(got, remotes, "alltoall");
  memset(got, 255, sizeof got);
  MPI_Alltoallv(send, counts, places, MPI_INT, got, counts, places, MPI_INT, inter);
  expect_row(got, remotes, "alltoallv");
  memset(got, 255, sizeof got);
  MPI_Alltoallw(send, counts, bytes, types, got, counts, bytes, types, inter);
  expect_row(got, remotes, "alltoallw");
}

static void blocks_to_all(void) {
  int got[kMost], counts[kMost], places[kMost], sum = -1, wrong = 0;
  for (int i = 0; i < remotes; ++i) counts[i] = 1, places[i] = i;
  memset(got, 255, sizeof got);
  MPI_Allgather(&own, 1, MPI_INT, got, 1, MPI_INT, inter);
  for (int i = 0; i < remotes; ++i) wrong += got[i] != i;
  memset(got, 255, sizeof got);
  MPI_Allgatherv(&own, 1, MPI_INT, got, counts, places, MPI_INT, inter);
  for (int i = 0; i < remotes; ++i) wrong += got[i] != i;
  expect(wrong == 0, "allgathers between groups: %d wrong", wrong);
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, inter);
  expect(sum == remotes * (remotes - 1) / 2, "a sum of the other group: %d", sum);
  MPI_Barrier(inter);
}

/* From a root of one group to all of the other, and back. */
static void rooted(int from) {
  const int root = side != from ? 0 : own == 0 ? MPI_ROOT : MPI_PROC_NULL;
  const int others = side == from ? remotes : locals;
  int number = root == MPI_ROOT ? 42 : -1, got[kMost], row[kMost], part = -1, sum = -1;
  for (int i = 0; i < kMost; ++i) row[i] = 7 * i, got[i] = -1;
  MPI_Bcast(&number, 1, MPI_INT, root, inter);
  expect(side == from || number == 42, "a broadcast to the other group: %d", number);
  MPI_Scatter(row, 1, MPI_INT, &part, 1, MPI_INT, root, inter);
  expect(side == from || part == 7 * own, "a scatter to the other group: %d", part);
  MPI_Gather(&own, 1, MPI_INT, got, 1, MPI_INT, root, inter);
  MPI_Reduce(&own, &sum, 1, MPI_INT, MPI_SUM, root, inter);
  if (root != MPI_ROOT) return;
  for (int i = 0; i < others; ++i) expect(got[i] == i, "a gather of the other group: %d", got[i]);
  expect(sum == others * (others - 1) / 2, "a reduction of the other group: %d", sum);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 5;
  MPI_Comm half, merged;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  side = rank % 3 == 0;
  MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 1 : 0, 5, &inter);
  MPI_Comm_rank(inter, &own);
  MPI_Comm_size(inter, &locals);
  MPI_Comm_remote_size(inter, &remotes);
  for (int round = 0; round < rounds; ++round) {
    blocks_to_each();
    blocks_to_all();
    rooted(0);
    rooted(1);
  }
  MPI_Intercomm_merge(inter, side, &merged);
  expect_ints_arrive(merged, 3, "a merged communicator");
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  return finish();
}
