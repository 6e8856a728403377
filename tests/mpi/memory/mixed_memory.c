/* Alltoalls and allreduces between buffers of every kind: from all functions of the heap, on the
 * stack, static, and mapped by the program; meanwhile children of fork write to the memory that
 * they inherit. The guarantees of malloc and related functions are checked first. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/program/check.h"

enum { kMost = 256 << 10, kPlaces = 9 };

static unsigned char static_memory[2][kMost];

/* The memory of a buffer, and the function that frees it. */
typedef struct {
  unsigned char* at;
  int place;
} Memory;

static Memory take(int place, int which, unsigned char* stack, size_t bytes) {
  Memory memory = {NULL, place};
  void* block = NULL;
  switch (place) {
    case 0:
      memory.at = stack + (size_t)which * kMost;
      break;
    case 1:
      memory.at = static_memory[which];
      break;
    case 2:
      memory.at = mmap(NULL, kMost, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      break;
    case 3:
      memory.at = calloc(bytes + 1, 1);
      break;
    case 4:
      memory.at = realloc(malloc(1 + bytes / 3), bytes + 1);
      break;
    case 5:
      if (posix_memalign(&block, 4096, bytes + 1) == 0) memory.at = block;
      break;
    default:
      memory.at = malloc(bytes + 1);
  }
  return memory;
}

static void drop(Memory memory) {
  if (memory.place == 2) munmap(memory.at, kMost);
  if (memory.place > 2) free(memory.at);
}

static unsigned char value(int from, int to, size_t at, int round) {
  return (unsigned char)(from * 31 + to * 17 + (int)(at * 7 + at / 251) + round);
}

/* The child overwrites its copy of the memory, while the ranks go on. */
static pid_t begin_scribbler(Memory memory, size_t bytes) {
  const pid_t child = fork();
  if (child != 0) return child;
  memset(memory.at, 0xee, bytes);
  void* more = malloc(100000);
  memset(more, 1, 100000);
  more = realloc(more, 300000);
  free(more);
  if (memory.place > 2) free(memory.at);
  _exit(0);
}

static void one_round(int round, uint64_t* shared, uint64_t* own, unsigned char* stack) {
  int rank = 0, size = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  size_t block = (size_t)below(shared, kMost / size);
  if (below(shared, 4) == 0) block %= 1000;
  const int forks = below(shared, 10) == 0;
  const size_t bytes = block * (size_t)size;
  const Memory send = take(below(own, kPlaces), 0, stack, bytes);
  const Memory receive = take(below(own, kPlaces), 1, stack, bytes);
  expect(send.at != NULL && receive.at != NULL, "round %d: no memory", round);
  for (int to = 0; to < size; ++to) {
    for (size_t i = 0; i < block; ++i) {
      send.at[(size_t)to * block + i] = value(rank, to, i, round);
      receive.at[(size_t)to * block + i] = 0x55;
    }
  }
  pid_t child = forks ? begin_scribbler(send, bytes) : 0;
  MPI_Alltoall(send.at, (int)block, MPI_BYTE, receive.at, (int)block, MPI_BYTE, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from) {
    for (size_t i = 0; i < block; ++i) {
      wrong += receive.at[(size_t)from * block + i] != value(from, rank, i, round);
    }
  }
  expect(wrong == 0, "round %d: %d bytes wrong from place %d to %d, blocks of %zu%s", round, wrong,
         send.place, receive.place, block, forks ? ", forked" : "");
  if (child != 0) {
    int status = -1;
    waitpid(child, &status, 0);
    expect(status == 0, "round %d: the child ended with %d", round, status);
  }

  const int count = (int)(bytes / sizeof(int));
  int* vector = (int*)(void*)((uintptr_t)(send.at + 3) / 4 * 4);
  int* sum = (int*)(void*)((uintptr_t)(receive.at + 3) / 4 * 4);
  const int used = count > 1 ? count - 1 : 0;
  for (int i = 0; i < used; ++i) vector[i] = rank * 3 + i;
  MPI_Allreduce(vector, sum, used, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  wrong = 0;
  for (int i = 0; i < used; ++i) wrong += sum[i] != 3 * size * (size - 1) / 2 + size * i;
  expect(wrong == 0, "round %d: %d sums of %d wrong", round, wrong, used);
  drop(send);
  drop(receive);
}

static void check_allocator(void) {
  for (size_t bytes = 0; bytes < (size_t)100 << 20; bytes = bytes * 3 + 1) {
    unsigned char* block = malloc(bytes);
    expect(block != NULL && malloc_usable_size(block) >= bytes, "malloc(%zu)", bytes);
    memset(block, 7, bytes);
    block = realloc(block, bytes * 2 + 1);
    expect(bytes == 0 || (block[0] == 7 && block[bytes - 1] == 7), "realloc after %zu", bytes);
    free(block);
    unsigned char* zeros = calloc(bytes + 1, 1);
    int any = 0;
    for (size_t i = 0; i <= bytes; ++i) any |= zeros[i];
    expect(any == 0, "calloc(%zu) is not zero", bytes + 1);
    free(zeros);
  }
  void* block = NULL;
  for (size_t alignment = sizeof(void*); alignment <= (size_t)64 << 20; alignment *= 2) {
    expect(posix_memalign(&block, alignment, 100) == 0, "posix_memalign at %zu", alignment);
    expect((uintptr_t)block % alignment == 0, "%p is not at %zu", block, alignment);
    free(block);
    block = aligned_alloc(alignment, alignment);
    expect((uintptr_t)block % alignment == 0, "%p is not at %zu", block, alignment);
    free(block);
  }
  expect(posix_memalign(&block, 24, 100) == EINVAL, "posix_memalign at 24");
  volatile size_t too_much = SIZE_MAX / 2;
  expect(malloc(too_much) == NULL && errno == ENOMEM, "malloc of everything");
  expect(calloc(too_much, 4) == NULL && errno == ENOMEM, "calloc of more");
  expect(reallocarray(NULL, too_much, 4) == NULL, "reallocarray of more");
  block = malloc(10);
  void* resized = realloc(block, too_much);
  expect(resized == NULL, "realloc of everything");
  free(resized == NULL ? block : resized);
  free(NULL);
  free(valloc(5));
  free(pvalloc(5));
  free(memalign(256, 5));
  free(strdup("a copy by the C library"));
}

static void* churn(void* seed) {
  uint64_t random = (uintptr_t)seed;
  unsigned char* kept[64] = {NULL};
  for (int i = 0; i < 20000; ++i) {
    const int which = below(&random, 64);
    free(kept[which]);
    const size_t bytes = (size_t)below(&random, i % 100 == 0 ? 1000000 : 2000) + 1;
    kept[which] = malloc(bytes);
    kept[which][0] = kept[which][bytes - 1] = 1;
  }
  for (int i = 0; i < 64; ++i) free(kept[i]);
  return NULL;
}

int main(int argc, char** argv) {
  unsigned char stack[2 * kMost];
  /* Allocated before MPI_Init: with the add-on perhaps before the shared heap exists. */
  char* early = strdup("early");
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 60;
  uint64_t shared = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  uint64_t own = shared * 1000 + (uint64_t)rank;
  early = realloc(early, 100000);
  expect(strcmp(early, "early") == 0, "what there was before is gone");
  free(early);
  check_allocator();
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, churn, (void*)(i + 1));
  for (int round = 0; round < rounds; ++round) one_round(round, &shared, &own, stack);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  expect(system("exit 3") == 3 << 8, "system()");
  return finish();
}
