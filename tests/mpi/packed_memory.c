/* Long vectors and broadcasts of elements with gaps: weft packs them piece by piece, so the memory
 * of a rank stays far below another copy of the data. */
#include <sys/resource.h>

#include "check.h"

enum { COUNT = 10 << 20 }; /* elements of three bytes in four: 30 MiB of data */

static long peak_kib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static void add(void* from, void* to, int* count, MPI_Datatype* type) {
  unsigned char* a = from;
  unsigned char* b = to;
  (void)type;
  for (long i = 0; i < *count; ++i) {
    for (long k = 0; k < 3; ++k) b[4 * i + k] = (unsigned char)(b[4 * i + k] + a[4 * i + k]);
  }
}

static unsigned char mine[4L * COUNT], sums[4L * COUNT], plain[3L * COUNT];

static void expect_values(const char* what, const unsigned char* data, int factor, int add_to) {
  long wrong = 0;
  for (long i = 0; i < COUNT; ++i) {
    for (long k = 0; k < 3; ++k) {
      wrong += data[4 * i + k] != (unsigned char)(factor * (i * 3 + k) + add_to);
    }
    wrong += data[4 * i + 3] != 0xee; /* the gap */
  }
  expect(wrong == 0, "%s: %ld bytes are wrong", what, wrong);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_measured = argc > 1;
  MPI_Datatype three, element;
  MPI_Type_contiguous(3, MPI_UNSIGNED_CHAR, &three);
  MPI_Type_create_resized(three, 0, 4, &element);
  MPI_Type_commit(&element);
  MPI_Op sum;
  MPI_Op_create(add, 1, &sum);
  for (long i = 0; i < COUNT; ++i) {
    for (long k = 0; k < 3; ++k) mine[4 * i + k] = (unsigned char)(i * 3 + k + rank);
    mine[4 * i + 3] = 0xee;
  }
  memset(sums, 0xee, sizeof sums);
  memset(plain, 0, sizeof plain);
  /* What is needed in any case, and the set-ups, come before it counts. */
  MPI_Allreduce(mine, sums, 1 << 20, element, sum, MPI_COMM_WORLD);
  MPI_Bcast(sums, 1 << 20, element, 0, MPI_COMM_WORLD);
  memset(sums, 0xee, sizeof sums);
  const long before = peak_kib();
  MPI_Allreduce(mine, sums, COUNT, element, sum, MPI_COMM_WORLD);
  expect_values("allreduce", sums, size, size * (size - 1) / 2);
  /* Elements with gaps on one rank, plain bytes on the others; pieces end inside of elements. */
  if (rank == 0) {
    MPI_Bcast(mine, COUNT, element, 0, MPI_COMM_WORLD);
  } else {
    MPI_Bcast(plain, 3 * COUNT, MPI_UNSIGNED_CHAR, 0, MPI_COMM_WORLD);
    long wrong = 0;
    for (long i = 0; i < 3L * COUNT; ++i) wrong += plain[i] != (unsigned char)i;
    expect(wrong == 0, "broadcast: %ld bytes are wrong", wrong);
  }
  if (rank == 1) {
    MPI_Bcast(plain, 3 * COUNT, MPI_UNSIGNED_CHAR, 1, MPI_COMM_WORLD);
  } else {
    memset(sums, 0xee, sizeof sums);
    MPI_Bcast(sums, COUNT, element, 1, MPI_COMM_WORLD);
    expect_values("broadcast back", sums, 1, 0);
  }
  const long more = peak_kib() - before;
  if (is_measured) expect(more < 24 << 10, "%ld KiB more at the peak", more);
  MPI_Op_free(&sum);
  MPI_Type_free(&element);
  MPI_Type_free(&three);
  return finish();
}
