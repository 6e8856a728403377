/* Ranks exchange blocks from 4 bytes to 1 MiB and look at each byte: for MPIs that use verbs. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int value(int from, int to, int count, int i) {
  return from * 1000003 + to * 1009 + count * 31 + i;
}

static int exchange(int rank, int size, int count) {
  const size_t total = (size_t)count * (size_t)size;
  int* out = malloc(total * sizeof(int));
  int* in = malloc(total * sizeof(int));
  int wrong = 0;
  for (int peer = 0; peer < size; ++peer) {
    for (int i = 0; i < count; ++i) out[peer * count + i] = value(rank, peer, count, i);
  }
  for (int round = 0; round < 3; ++round) {
    MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
    for (int peer = 0; peer < size; ++peer) {
      for (int i = 0; i < count; ++i) wrong += in[peer * count + i] != value(peer, rank, count, i);
    }
  }
  free(out);
  free(in);
  return wrong;
}

int main(int argc, char** argv) {
  int rank = 0, size = 0, mine = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int count = 1; count <= 1 << 18; count *= 8) mine += exchange(rank, size, count);
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong\n", size, all);
  MPI_Finalize();
  return all != 0;
}
