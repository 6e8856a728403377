/* Prints the bits of sums whose rounding depends on the order of the additions, and so on the
   algorithm by which the MPI reduces: a number for MPI_Reduce_scatter_block of 128 bytes. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { kBlock = 16, kMostRanks = 64 };

int main(int argc, char** argv) {
  int rank = 0, ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 1);
  double input[kBlock * kMostRanks], output[kBlock];
  for (int i = 0; i < kBlock * ranks; ++i) {
    input[i] = 1.0 / (3 + rank * 7 + i) * (rank % 2 != 0 ? 1e8 : 1);
  }
  MPI_Reduce_scatter_block(input, output, kBlock, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  uint64_t number = 0;
  for (int i = 0; i < kBlock; ++i) {
    uint64_t bits = 0;
    memcpy(&bits, &output[i], sizeof bits);
    number = number * UINT64_C(1099511628211) + bits;
  }
  if (rank == 0) printf("%016llx\n", (unsigned long long)number);
  MPI_Finalize();
  return 0;
}
