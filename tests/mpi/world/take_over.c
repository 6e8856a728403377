/* take_over CALLS INTS [alltoallv]: so many calls with vectors of INTS on each of communicators
   that are made in every way, whose ranks are those of the world, the even and the odd ones, or the
   lower half. Whoever serves them, at the beginning and later, the answers are the same. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/program/check.h"

static int ints;
static int is_irregular;
static int *mine, *sums;

/* Rank 0 alone sends INTS to each, the others one. */
static void call_irregular(MPI_Comm comm, int calls) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int block = rank == 0 ? ints : 1;
  int* counts = calloc((size_t)size * 4, sizeof *counts);
  int *places = counts + size, *from = counts + 2 * size, *at = counts + 3 * size;
  int* sent = calloc((size_t)size * (size_t)block, sizeof *sent);
  int* got = calloc((size_t)ints + (size_t)size, sizeof *got);
  for (int i = 0; i < size; ++i) {
    counts[i] = block;
    places[i] = i * block;
    from[i] = i == 0 ? ints : 1;
    at[i] = i == 0 ? 0 : ints + i - 1;
  }
  for (int i = 0; i < calls; ++i) {
    for (int j = 0; j < size * block; ++j) sent[j] = rank + i;
    MPI_Alltoallv(sent, counts, places, MPI_INT, got, from, at, MPI_INT, comm);
    for (int j = 0; j < size; ++j) {
      const int last = got[at[j] + from[j] - 1];
      expect(last == j + i, "call %d: %d from rank %d of %d", i, last, j, size);
    }
  }
  free(got);
  free(sent);
  free(counts);
}

static void call(MPI_Comm comm, int calls) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (is_irregular) {
    call_irregular(comm, calls);
    return;
  }
  for (int i = 0; i < calls; ++i) {
    mine[0] = rank + i;
    mine[ints - 1] = rank + i;
    MPI_Allreduce(mine, sums, ints, MPI_INT, MPI_SUM, comm);
    const int right = size * (size - 1) / 2 + size * i;
    expect(sums[0] == right && sums[ints - 1] == right, "call %d: sums %d and %d of %d ranks", i,
           sums[0], sums[ints - 1], size);
  }
}

static void call_and_free(MPI_Comm comm, int calls) {
  if (comm == MPI_COMM_NULL) return;
  call(comm, calls);
  MPI_Comm child;
  MPI_Comm_dup(comm, &child);
  call(child, calls);
  MPI_Comm_free(&child);
  MPI_Comm_free(&comm);
}

static MPI_Comm lower_half(int tag) {
  MPI_Group world, half;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int range[1][3] = {{0, (size - 1) / 2, 1}};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, range, &half);
  if (rank <= (size - 1) / 2) MPI_Comm_create_group(MPI_COMM_WORLD, half, tag, &comm);
  MPI_Group_free(&half);
  MPI_Group_free(&world);
  return comm;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 5;
  ints = argc > 2 ? atoi(argv[2]) : 1;
  is_irregular = argc > 3 && strcmp(argv[3], "alltoallv") == 0;
  mine = calloc((size_t)ints, sizeof *mine);
  sums = calloc((size_t)ints, sizeof *sums);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  call(MPI_COMM_WORLD, calls);
  MPI_Comm first, second;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  /* In turns: messages of one must not be taken for the other's. */
  for (int i = 0; i < 3; ++i) {
    call(second, calls);
    call(first, calls);
  }
  call_and_free(first, calls);
  call_and_free(second, calls);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &first);
  call_and_free(first, calls);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &first);
  call_and_free(first, calls);
  call_and_free(lower_half(1), calls);
  call_and_free(lower_half(1), calls);
  const int ring = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &ring, 1, &first);
  call_and_free(first, calls);
  MPI_Request made;
  MPI_Comm_idup(MPI_COMM_WORLD, &first, &made);
  MPI_Wait(&made, MPI_STATUS_IGNORE);
  call_and_free(first, calls);
  call(MPI_COMM_WORLD, calls);
  free(mine);
  free(sums);
  return finish();
}
