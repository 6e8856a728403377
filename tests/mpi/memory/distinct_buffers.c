/* A program that uses each buffer once, in memory allocated and freed in all ways; some buffers
 * live for a while. It fails where a cache of registrations grows without bounds, or uses an old
 * registration for new memory.
 *
 * usage: distinct_buffers [SECONDS [MEGABYTES]]: runs for SECONDS (2), with buffers of up to
 * MEGABYTES (8) each; DISTINCT_BUFFERS_SECONDS overrides SECONDS. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "tests/mpi/program/check.h"

enum { kWays = 4, kPage = 4096, kAlive = 48, kRoundsAtLeast = 40 };

typedef struct {
  char* memory;
  size_t bytes;
  int way;
} Buffer;

static Buffer allocate(int way, size_t bytes) {
  Buffer buffer = {NULL, bytes, way};
  void* memory = MAP_FAILED;
  if (way == 0) {
    memory = malloc(bytes);
  } else if (way == 1) {
    if (posix_memalign(&memory, kPage, bytes) != 0) memory = NULL;
  } else if (way == 2) {
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  } else {
    /* The end of the heap moves up here, and down when the block is freed. */
    memory = malloc(bytes / 2);
    if (memory != NULL) memory = realloc(memory, bytes);
  }
  if (memory == NULL || memory == MAP_FAILED) {
    fprintf(stderr, "no memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  buffer.memory = memory;
  return buffer;
}

static void release(Buffer buffer) {
  if (buffer.way == 2) {
    munmap(buffer.memory, buffer.bytes);
  } else {
    free(buffer.memory);
  }
}

/* Ring of the buffers of the last rounds. */
static Buffer alive[kAlive];
static int made = 0;

static Buffer next_buffer(int way, size_t bytes) {
  Buffer* place = &alive[made++ % kAlive];
  if (place->memory != NULL) release(*place);
  return *place = allocate(way, bytes);
}

/* Content of the block from one rank to another in one round. */
static uint64_t word(int from, int to, int round, size_t at) {
  return (uint64_t)round * 0x9e3779b97f4a7c15u + (uint64_t)from * 1000003u + (uint64_t)to * 7919u +
         at;
}

/* Checks a byte of every page of every block, and both ends of it. */
static size_t next(size_t at, size_t words) {
  const size_t step = kPage / sizeof(uint64_t);
  return at + 1 < words && at + step >= words ? words - 1 : at + step;
}

static void exchange(int round, uint64_t* random, size_t most) {
  int size = 0, rank = 0, wrong = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const size_t words = 1 + (size_t)below(random, (int)(most / (size_t)size / sizeof(uint64_t)));
  const size_t bytes = words * sizeof(uint64_t) * (size_t)size;
  const Buffer send = next_buffer(below(random, kWays), bytes);
  const Buffer receive = next_buffer(below(random, kWays), bytes);
  uint64_t* out = (uint64_t*)send.memory;
  uint64_t* in = (uint64_t*)receive.memory;
  for (int to = 0; to < size; ++to) {
    for (size_t at = 0; at < words; at = next(at, words)) {
      out[(size_t)to * words + at] = word(rank, to, round, at);
    }
  }
  MPI_Alltoall(out, (int)words, MPI_UINT64_T, in, (int)words, MPI_UINT64_T, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from) {
    for (size_t at = 0; at < words; at = next(at, words)) {
      wrong += in[(size_t)from * words + at] != word(from, rank, round, at);
    }
  }
  expect(wrong == 0, "round %d on rank %d: %d words of blocks of %zu are wrong", round, rank, wrong,
         words);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* longer = getenv("DISTINCT_BUFFERS_SECONDS");
  const double seconds = longer != NULL ? atof(longer) : argc > 1 ? atof(argv[1]) : 2;
  const size_t most = (size_t)(argc > 2 ? atoi(argv[2]) : 8) << 20;
  int rank = 0, round = 0, going = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  uint64_t random = 11;
  const double begin = MPI_Wtime();
  while (going) {
    exchange(++round, &random, most);
    going = round < kRoundsAtLeast || MPI_Wtime() - begin < seconds;
    MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  for (int i = 0; i < kAlive; ++i) {
    if (alive[i].memory != NULL) release(alive[i]);
  }
  if (rank == 0) printf("%d rounds\n", round);
  return finish();
}
