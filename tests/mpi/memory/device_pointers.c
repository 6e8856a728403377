/* Buffers on a device: on all ranks, on some, and as one of the two buffers of a call. The driver
 * is one of the test's own, opened as programs open CUDA's or ROCm's: late, and for themselves
 * alone. */
#include <dlfcn.h>
#include <stdint.h>

#include "tests/mpi/program/check.h"

enum { COUNT = 3000, MOST = 8 };

static void* (*allocate)(size_t);
static int (*copy)(uint64_t, uint64_t, size_t);
static long (*copies)(void);
static int (*last_error)(void);
static int rank, size;

static void open_driver(const char* path) {
  void* driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (driver == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  allocate = (void* (*)(size_t))dlsym(driver, "fake_allocate");
  copy = (int (*)(uint64_t, uint64_t, size_t))dlsym(driver, "fake_copy");
  last_error = (int (*)(void))dlsym(driver, "fake_error");
  copies = (long (*)(void))dlsym(driver, "fake_copies");
}

static int here[2][MOST * COUNT]; /* the buffers of this processor */
static int* there[2];             /* and those of the device */

static int* place(int buffer, int on_device) {
  return on_device ? there[buffer] : here[buffer];
}
static void set(int* to, const int* values, int count) {
  copy((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)values, (size_t)count * sizeof *values);
}
static void expect_values(const char* what, const int* got, const int* wanted, int count) {
  static int seen[MOST * COUNT];
  set(seen, got, count);
  for (int i = 0; i < count; ++i) {
    if (seen[i] == wanted[i]) continue;
    expect(0, "%s: %d at %d, not %d", what, seen[i], i, wanted[i]);
    return;
  }
}

static int mine[MOST * COUNT], wanted[MOST * COUNT];

/* `from` and `to`: whether this rank's input and its output are on the device. */
static void move(int from, int to) {
  int* in = place(0, from);
  int* out = place(1, to);
  for (int i = 0; i < size * COUNT; ++i) mine[i] = rank * MOST * COUNT + i;
  set(in, mine, size * COUNT);
  for (int other = 0; other < size; ++other) {
    for (int i = 0; i < COUNT; ++i) {
      wanted[other * COUNT + i] = other * MOST * COUNT + rank * COUNT + i;
    }
  }
  MPI_Alltoall(in, COUNT, MPI_INT, out, COUNT, MPI_INT, MPI_COMM_WORLD);
  expect_values("alltoall", out, wanted, size * COUNT);

  int counts[MOST], at[MOST];
  for (int i = 0; i < size; ++i) counts[i] = COUNT - 1, at[i] = i * COUNT;
  for (int other = 0; other < size; ++other) wanted[other * COUNT + COUNT - 1] = -1;
  memset(mine, 0xff, sizeof mine);
  set(out, mine, size * COUNT);
  MPI_Alltoallv(in, counts, at, MPI_INT, out, counts, at, MPI_INT, MPI_COMM_WORLD);
  expect_values("alltoallv", out, wanted, size * COUNT);

  for (int other = 0; other < size; ++other) {
    for (int i = 0; i < COUNT; ++i) wanted[other * COUNT + i] = other * MOST * COUNT + i;
  }
  MPI_Allgather(in, COUNT, MPI_INT, out, COUNT, MPI_INT, MPI_COMM_WORLD);
  expect_values("allgather", out, wanted, size * COUNT);
  set(out, mine, size * COUNT);
  MPI_Gather(in, COUNT, MPI_INT, out, COUNT, MPI_INT, 1, MPI_COMM_WORLD);
  if (rank == 1) expect_values("gather", out, wanted, size * COUNT);
  for (int i = 0; i < COUNT; ++i) wanted[i] = MOST * COUNT + rank * COUNT + i;
  MPI_Scatter(in, COUNT, MPI_INT, out, COUNT, MPI_INT, 1, MPI_COMM_WORLD);
  expect_values("scatter", out, wanted, COUNT);
  for (int i = 0; i < COUNT; ++i) wanted[i] = i;
  MPI_Bcast(in, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
  expect_values("broadcast", in, wanted, COUNT);
}

static void combine(int from, int to) {
  int* in = place(0, from);
  int* out = place(1, to);
  for (int i = 0; i < size * COUNT; ++i) mine[i] = rank + i;
  set(in, mine, size * COUNT);
  for (int i = 0; i < size * COUNT; ++i) wanted[i] = size * i + size * (size - 1) / 2;
  MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_values("allreduce", out, wanted, COUNT);
  MPI_Reduce(in, out, COUNT, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
  if (rank == 1) expect_values("reduce", out, wanted, COUNT);
  MPI_Reduce_scatter_block(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_values("reduce_scatter", out, wanted + rank * COUNT, COUNT);
  MPI_Allreduce(MPI_IN_PLACE, in, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_values("allreduce in place", in, wanted, COUNT);
  for (int i = 0; i < COUNT; ++i) mine[2 * i] = i, mine[2 * i + 1] = rank;
  set(in, mine, 2 * COUNT);
  for (int i = 0; i < COUNT; ++i) wanted[2 * i] = i, wanted[2 * i + 1] = 0;
  MPI_Allreduce(in, out, COUNT, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
  expect_values("minloc", out, wanted, 2 * COUNT);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  open_driver(argv[1]);
  for (int i = 0; i < 2; ++i) there[i] = allocate(sizeof here[i]);
  for (int on = 0; on < 4; ++on) {
    move(on & 1, on >> 1);
    combine(on & 1, on >> 1);
  }
  const int odd = rank % 2; /* differently on each rank */
  move(odd, !odd);
  combine(!odd, odd);
  expect(copies() > 50, "%ld copies of the driver", copies());
  expect(last_error() == 0, "an error that the program has not made");
  return finish();
}
