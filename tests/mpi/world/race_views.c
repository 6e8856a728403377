/* race_views CALLS static|mixed: alltoalls, allgathers, broadcasts and sums of integers of two
   sizes, so many of each, whoever serves them. Buffers are of the heap in the first calls, so that
   weft reads them where they lie; then static, or those that each rank draws for each call: static,
   of the heap, or mapped by the program. Prints nothing but mistakes. */
#include <sys/mman.h>

#include "tests/mpi/program/check.h"

enum { kMost = 1 << 17, kPlaces = 3, kFirst = 6 }; /* ints; of memory; calls */

static int static_memory[2][kMost];
static int* mapped[2];
static int rank, size;

typedef struct {
  int place;
  int* at;
} Memory;

static Memory take(uint64_t* own, int call, int is_mixed, int which) {
  Memory memory = {is_mixed ? below(own, kPlaces) : 0, static_memory[which]};
  if (call < kFirst) memory.place = 2;
  if (memory.place == 1) memory.at = mapped[which];
  if (memory.place == 2) memory.at = (int*)malloc(kMost * sizeof *memory.at);
  return memory;
}

static void drop(Memory memory) {
  if (memory.place == 2) free(memory.at);
}

static int value(int from, int to, int i, int call) {
  return from * 7919 + to * 1013 + i * 3 + call;
}

static void one_call(int kind, int count, int call, const int* send, int* receive) {
  const int root = call % size;
  const int blocks = kind < 2 ? size : 1;
  switch (kind) {
    case 0:
      MPI_Alltoall(send, count, MPI_INT, receive, count, MPI_INT, MPI_COMM_WORLD);
      break;
    case 1:
      MPI_Allgather(send, count, MPI_INT, receive, count, MPI_INT, MPI_COMM_WORLD);
      break;
    case 2:
      if (rank == root) memcpy(receive, send, (size_t)count * sizeof *send);
      MPI_Bcast(receive, count, MPI_INT, root, MPI_COMM_WORLD);
      break;
    default:
      MPI_Allreduce(send, receive, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  int wrong = 0;
  for (int i = 0; i < blocks * count; ++i) {
    int right = value(kind == 2 ? root : i / count, kind == 0 ? rank : 0, i % count, call);
    for (int from = 1; kind == 3 && from < size; ++from) right += value(from, 0, i, call);
    wrong += receive[i] != right;
  }
  expect(wrong == 0, "call %d of kind %d, %d ints: %d are wrong", call, kind, count, wrong);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 100;
  const int is_mixed = argc > 2 && strcmp(argv[2], "mixed") == 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int which = 0; which < 2; ++which) {
    mapped[which] = (int*)mmap(NULL, kMost * sizeof(int), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  const int counts[] = {kMost / 8 / size, kMost / size - 11};
  uint64_t own = (uint64_t)rank;
  for (int call = 0; call < calls; ++call) {
    for (int kind = 0; kind < 8; ++kind) {
      const int count = counts[kind / 4];
      const Memory send = take(&own, call, is_mixed, 0);
      const Memory receive = take(&own, call, is_mixed, 1);
      for (int i = 0; i < count * size; ++i) send.at[i] = value(rank, i / count, i % count, call);
      memset(receive.at, 0x5a, (size_t)(count * size) * sizeof(int));
      one_call(kind % 4, count, call, send.at, receive.at);
      drop(send);
      drop(receive);
    }
  }
  return finish();
}
