/* Operations of the program that need as much stack as main() has, of blocking calls and others. */
#include "tests/mpi/program/check.h"

enum { kMost = 5000, kDeep = 3 << 20 };

static void add_deep(void* from, void* to, int* count, MPI_Datatype* type) {
  (void)type;
  volatile char deep[kDeep];
  for (int at = 0; at < kDeep; at += 1024) deep[at] = (char)at;
  for (int i = 0; i < *count; ++i) ((double*)to)[i] += ((double*)from)[i] + deep[0];
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static double mine[kMost], sum[kMost];
  MPI_Op add;
  MPI_Op_create(add_deep, 1, &add);
  for (int count = 1; count <= kMost; count += kMost - 1) {
    for (int i = 0; i < count; ++i) mine[i] = rank + i;
    for (int is_blocking = 0; is_blocking < 2; ++is_blocking) {
      sum[count - 1] = -1;
      if (is_blocking) {
        MPI_Allreduce(mine, sum, count, MPI_DOUBLE, add, MPI_COMM_WORLD);
      } else {
        MPI_Request request;
        MPI_Iallreduce(mine, sum, count, MPI_DOUBLE, add, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      const double expected = size * (size - 1) / 2.0 + (double)size * (count - 1);
      expect(sum[count - 1] == expected, "%d: the sum is %g", count, sum[count - 1]);
    }
  }
  MPI_Op_free(&add);
  return finish();
}
