/* Barriers that are followed by the same call many times: by broadcasts and scatters of every form
 * from one root, by scans, by gathers and reductions to one root, and by others; with nonblocking
 * calls between them. The answers are computed. */
#include "tests/mpi/program/check.h"

enum { kMost = 8, kPhases = 32, kTimes = 160 };

static int rank, size;

/* Every second block has two numbers, so that the irregular forms are. */
static void check_scatter(int root, int number, int of_vectors) {
  int all[2 * kMost], counts[kMost], offsets[kMost], own[2] = {-1, -1}, at = 0;
  for (int i = 0; i < size; ++i) {
    counts[i] = of_vectors ? 1 + i % 2 : 1;
    offsets[i] = at;
    at += counts[i];
  }
  for (int i = 0; i < at; ++i) all[i] = number + i;
  if (of_vectors) {
    MPI_Scatterv(all, counts, offsets, MPI_INT, own, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
  } else {
    MPI_Scatter(all, 1, MPI_INT, own, 1, MPI_INT, root, MPI_COMM_WORLD);
  }
  for (int i = 0; i < counts[rank]; ++i) {
    expect(own[i] == number + offsets[rank] + i, "scatter from %d: %d", root, own[i]);
  }
}

static void check_broadcast(int root, int number, int count) {
  int values[2] = {rank == root ? number : -1, rank == root ? number + 1 : -1};
  MPI_Bcast(values, count, MPI_INT, root, MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    expect(values[i] == number + i, "broadcast from %d: %d", root, values[i]);
  }
}

static void check_allreduce(int number) {
  int sum = 0;
  MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == size * number, "allreduce: %d", sum);
}

static void check_scan(int number) {
  int sum = -1;
  MPI_Scan(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == (rank + 1) * number, "scan: %d", sum);
}

/* The last rank has two numbers in the irregular form. */
static void check_gather(int root, int number, int of_vectors) {
  int all[2 * kMost], counts[kMost], offsets[kMost];
  const int own[2] = {number + rank, number - 1};
  for (int i = 0; i < size; ++i) {
    counts[i] = of_vectors && i == size - 1 ? 2 : 1;
    offsets[i] = i;
  }
  if (of_vectors) {
    MPI_Gatherv(own, counts[rank], MPI_INT, all, counts, offsets, MPI_INT, root, MPI_COMM_WORLD);
  } else {
    MPI_Gather(own, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD);
  }
  for (int i = 0; i < size && rank == root; ++i) {
    expect(all[i] == number + i, "gather to %d: %d", root, all[i]);
  }
  expect(rank != root || !of_vectors || all[size] == number - 1, "gather to %d: the last", root);
}

static void check_reduce(int root, int number) {
  int sum = -1;
  MPI_Reduce(&number, &sum, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  expect(sum == (rank == root ? size * number : -1), "reduce to %d: %d", root, sum);
}

static void call(int kind, int root, int number) {
  if (kind < 3) return check_broadcast(root, number, kind);
  if (kind < 5) return check_scatter(root, number, kind == 4);
  if (kind == 5) check_allreduce(number);
  if (kind == 6) check_scan(number);
  if (kind == 7 || kind == 8) check_gather(root, number, kind == 8);
  if (kind == 9) check_reduce(root, number);
}

/* A nonblocking pair now and then, which is no part of what follows blocking barriers. */
static void begin_others(int root, int number, MPI_Request requests[2], int* value) {
  *value = rank == root ? number : -1;
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
  MPI_Ibcast(value, 1, MPI_INT, root, MPI_COMM_WORLD, &requests[1]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  uint64_t state = argc > 1 ? (uint64_t)atoi(argv[1]) : 1, own = (uint64_t)rank;
  for (int phase = 0; phase < kPhases; ++phase) {
    const int kind = below(&state, 11), root = below(&state, size), times = below(&state, kTimes);
    for (int i = 0; i < times; ++i) {
      const int number = 1000 * phase + i, has_others = below(&state, 16) == 0;
      MPI_Request requests[2];
      int value = 0;
      if (has_others) begin_others(root, number, requests, &value);
      if (has_others && below(&own, 2)) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
      call(kind, root, number);
      if (!has_others) continue;
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      expect(value == number, "nonblocking broadcast: %d", value);
    }
  }
  return finish();
}
