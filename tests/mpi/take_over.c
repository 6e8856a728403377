/* take_over CALLS INTS: so many calls with vectors of INTS on each of communicators that are made
   in every way, whose ranks are those of the world, the even and the odd ones, or the lower half.
   Whoever serves them, at the beginning and later, the answers are the same. */
#include <stdlib.h>

#include "check.h"

static int ints;
static int *mine, *sums;

static void call(MPI_Comm comm, int calls) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
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
