/* Alltoallvs of long blocks that lie where neighbours would have to ask the kernel for them, in
 * arrays of the program, with short and empty ones between; also in place. Each pair of ranks has a
 * size of its own, and every byte is looked at. */
#include <string.h>

#include "tests/mpi/program/check.h"

enum { kMost = 6, kLongest = 600 << 10, kCalls = 24 };

static unsigned char sent[kMost * kLongest], received[kMost * kLongest];
static int rank, size;

/* Of the block between two ranks, the same both ways. */
static int bytes_of(int call, int one, int other) {
  static const int kSizes[] = {kLongest, 0, 5, 70 << 10, 300001, 17 << 10, kLongest - 1};
  return call % 5 == 4 ? 8 : kSizes[(one + other + call) % 7];
}

static unsigned char value(int call, int from, int to, int at) {
  return (unsigned char)(at * 7 + at / 256 + from * 31 + to * 57 + call * 3);
}

static void check(int call, int in_place) {
  int counts[kMost], places[kMost];
  for (int i = 0, at = 0; i < size; ++i) {
    counts[i] = bytes_of(call, rank, i);
    places[i] = at;
    at += counts[i];
    unsigned char* const mine = (in_place ? received : sent) + places[i];
    for (int k = 0; k < counts[i]; ++k) mine[k] = value(call, rank, i, k);
  }
  MPI_Alltoallv(in_place ? MPI_IN_PLACE : sent, counts, places, MPI_BYTE, received, counts, places,
                MPI_BYTE, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) {
    int wrong = 0;
    for (int k = 0; k < counts[i]; ++k) wrong += received[places[i] + k] != value(call, i, rank, k);
    expect(wrong == 0, "call %d: %d of %d bytes from %d are wrong", call, wrong, counts[i], i);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMost) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int call = 0; call < kCalls; ++call) check(call, call % 3 == 2);
  return finish();
}
