/* Alltoalls and allreduces between buffers of malloc over which the program maps other memory in
 * the middle of the run, by mmap and, with the argument "mremap", by mremap. Collectives must use
 * the memory that the program sees at these addresses. */
#define _GNU_SOURCE  // mremap
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/mpi/program/check.h"

enum { kWords = 64 << 10 }; /* of a block */

static void fill(int* buffer, int rank, int size, int round) {
  for (int i = 0; i < size * kWords; ++i) buffer[i] = rank * 1000000 + round * 100000 + i % 99991;
}

static void exchange(int* send, int* receive, int round) {
  int rank = 0, size = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  fill(send, rank, size, round);
  MPI_Alltoall(send, kWords, MPI_INT, receive, kWords, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size * kWords; ++i) {
    const int there = rank * kWords + i % kWords;
    wrong += receive[i] != i / kWords * 1000000 + round * 100000 + there % 99991;
  }
  expect(wrong == 0, "round %d: %d words of the alltoall wrong", round, wrong);
  wrong = 0;
  MPI_Allreduce(send, receive, kWords, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kWords; ++i) {
    const int each = round * 100000 + i % 99991;
    wrong += receive[i] != 1000000 * size * (size - 1) / 2 + size * each;
  }
  expect(wrong == 0, "round %d: %d sums wrong", round, wrong);
}

/* Maps new pages over the middle of a buffer. */
static void map_over(void* buffer, size_t bytes, int moved) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* middle = (char*)buffer + bytes / page / 3 * page;
  const int fixed = moved ? 0 : MAP_FIXED;
  char* fresh = mmap(moved ? NULL : middle, 8 * page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
  expect(fresh != MAP_FAILED, "mmap");
  if (moved) fresh = mremap(fresh, 8 * page, 8 * page, MREMAP_MAYMOVE | MREMAP_FIXED, middle);
  expect(fresh == middle, "mapped elsewhere");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int by_mremap = argc > 1 && strcmp(argv[1], "mremap") == 0;
  int rank = 0, size = 0, round = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t bytes = (size_t)size * kWords * sizeof(int);
  void *send = NULL, *receive = NULL;
  expect(posix_memalign(&send, 4096, bytes) == 0, "no memory");
  expect(posix_memalign(&receive, 4096, bytes) == 0, "no memory");
  for (; round < 3; ++round) exchange(send, receive, round);
  /* On some ranks only: the heaps of the others stay as they were. */
  if (rank != 1) map_over(send, bytes, by_mremap && rank == 2);
  for (; round < 6; ++round) exchange(send, receive, round);
  map_over(receive, bytes, by_mremap && rank == 0);
  for (; round < 9; ++round) exchange(send, receive, round);
  /* The blocks are not freed: the memory there is no longer the allocator's. */
  return finish();
}
