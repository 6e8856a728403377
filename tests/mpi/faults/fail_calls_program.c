/* Collectives of several kinds and sizes on three communicators,
 * each answer checked; then the program's own files and memory. What goes wrong in weft's set-ups
 * must not be seen here. With $PEAK_FILE, rank 0 writes there how many MiB of addresses it had at
 * most. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/mpi/program/check.h"

static void reduce(MPI_Comm comm, int count) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int* mine = malloc(2 * (size_t)count * sizeof *mine);
  int* sums = mine + count;
  for (int i = 0; i < count; ++i) mine[i] = i + rank;
  MPI_Allreduce(mine, sums, count, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) {
    expect(sums[i] == size * i + size * (size - 1) / 2, "allreduce of %d: %d at %d", count, sums[i],
           i);
  }
  free(mine);
}

static void broadcast(MPI_Comm comm, int count) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  int* data = malloc((size_t)count * sizeof *data);
  for (int i = 0; i < count; ++i) data[i] = rank == 1 ? i : -1;
  MPI_Bcast(data, count, MPI_INT, 1, comm);
  for (int i = 0; i < count; ++i)
    expect(data[i] == i, "broadcast of %d: %d at %d", count, data[i], i);
  free(data);
}

/* alltoall and alltoallv of blocks of `count`, and a gatherv of 1, 2, ... times as many. */
static void exchange(MPI_Comm comm, int count) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int all = size * count;
  int* mine = malloc((size_t)all * sizeof *mine);
  int* theirs = malloc((size_t)all * (size_t)size * sizeof *theirs);
  int counts[16], at[16];
  for (int i = 0; i < all; ++i) mine[i] = rank * all + i;
  for (int way = 0; way < 2; ++way) {
    for (int i = 0; i < size; ++i) counts[i] = count, at[i] = i * count;
    memset(theirs, 0, (size_t)all * sizeof *theirs);
    if (way == 0) MPI_Alltoall(mine, count, MPI_INT, theirs, count, MPI_INT, comm);
    if (way == 1) MPI_Alltoallv(mine, counts, at, MPI_INT, theirs, counts, at, MPI_INT, comm);
    for (int i = 0; i < all; ++i) {
      expect(theirs[i] == i / count * all + rank * count + i % count, "alltoall %d of %d: %d at %d",
             way, count, theirs[i], i);
    }
  }
  for (int i = 0; i < size; ++i) counts[i] = (i + 1) * count, at[i] = i * all;
  MPI_Gatherv(mine, counts[rank], MPI_INT, theirs, counts, at, MPI_INT, 0, comm);
  for (int i = 0; rank == 0 && i < size; ++i) {
    for (int k = 0; k < counts[i]; ++k) {
      expect(theirs[at[i] + k] == i * all + k, "gatherv: %d of rank %d at %d", theirs[at[i] + k], i,
             k);
    }
  }
  free(theirs);
  free(mine);
}

static void request(MPI_Comm comm) {
  int rank, size, sum = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Request request;
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(sum == size * (size - 1) / 2, "iallreduce: %d", sum);
}

static void own_files_and_memory(void) {
  const int file = open("/dev/null", O_RDWR);
  expect(file >= 0, "open");
  close(file);
  char* memory = malloc(5 << 20);
  expect(memory != NULL, "malloc");
  memset(memory, 1, 5 << 20);
  free(memory);
  void* mapped = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  expect(mapped != MAP_FAILED, "mmap");
  if (mapped != MAP_FAILED) memset(mapped, 1, 1 << 20);
  munmap(mapped, 1 << 20);
}

static void write_peak(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* path = getenv("PEAK_FILE");
  if (rank != 0 || path == NULL) return;
  FILE* status = fopen("/proc/self/status", "r");
  FILE* peak = fopen(path, "w");
  expect(status != NULL && peak != NULL, "%s", path);
  if (status == NULL || peak == NULL) return;
  char line[200];
  unsigned long kib = 0;
  while (kib == 0 && fgets(line, sizeof line, status) != NULL) sscanf(line, "VmPeak: %lu", &kib);
  fprintf(peak, "%lu\n", kib / 1024 + 1);
  fclose(peak);
  fclose(status);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comms[3] = {MPI_COMM_WORLD};
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comms[2]);
  for (int i = 0; i < 3; ++i) {
    reduce(comms[i], 1);
    broadcast(comms[i], 300);
    exchange(comms[i], 20000); /* first, as an alltoallv votes on its first call's connections */
    request(comms[i]);
    MPI_Barrier(comms[i]);
    reduce(comms[i], 50000);
    exchange(comms[i], 10);
    broadcast(comms[i], 200000);
    own_files_and_memory();
  }
  for (int i = 2; i > 0; --i) {
    reduce(comms[i], 3);
    MPI_Comm_free(&comms[i]);
  }
  write_peak();
  return finish();
}
