/* Communicators of one rank, as programs have whose grid of processes has a side of one: alltoallw
 * and alltoall between derived datatypes are copies. Beside them MPI's own packing. */
#include "tests/mpi/program/check.h"

enum { kSide = 12, kCells = kSide * kSide * kSide };

static uint64_t random_state = 1;

/* `lengths` cells from a random corner of a cube. */
static MPI_Datatype part_of_cube(const int* lengths, MPI_Datatype cell) {
  const int cube[3] = {kSide, kSide, kSide};
  int corner[3];
  for (int i = 0; i < 3; ++i) corner[i] = below(&random_state, kSide - lengths[i] + 1);
  MPI_Datatype type;
  MPI_Type_create_subarray(3, cube, lengths, corner, MPI_ORDER_C, cell, &type);
  MPI_Type_commit(&type);
  return type;
}

static void expect_copy(const char* what, const double* from, MPI_Datatype from_type,
                        const double* got, double* wanted, MPI_Datatype type) {
  int bytes = 0, place = 0;
  MPI_Pack_size(1, from_type, MPI_COMM_SELF, &bytes);
  char* packed = malloc((size_t)bytes);
  MPI_Pack(from, 1, from_type, packed, bytes, &place, MPI_COMM_SELF);
  bytes = place;
  place = 0;
  MPI_Unpack(packed, bytes, &place, wanted, 1, type, MPI_COMM_SELF);
  int wrong = 0;
  for (int i = 0; i < kCells; ++i) wrong += got[i] != wanted[i];
  expect(wrong == 0, "%s: %d cells are wrong", what, wrong);
  free(packed);
}

static void clear(double* one, double* two) {
  for (int i = 0; i < kCells; ++i) one[i] = two[i] = -1;
}

static void check_random_parts(MPI_Comm alone, double* from, double* to, double* wanted) {
  int lengths[3], turned[3];
  for (int i = 0; i < 3; ++i) lengths[i] = 1 + below(&random_state, kSide);
  for (int i = 0; i < 3; ++i) turned[i] = lengths[(i + 1) % 3];
  MPI_Datatype a = part_of_cube(lengths, MPI_DOUBLE), b = part_of_cube(turned, MPI_DOUBLE);
  const int one = 1, cells = lengths[0] * lengths[1] * lengths[2], zero = 0;
  clear(to, wanted);
  MPI_Alltoallw(from, &one, &zero, &a, to, &one, &zero, &b, alone);
  expect_copy("alltoallw", from, a, to, wanted, b);
  clear(to, wanted);
  MPI_Alltoall(from, 1, a, to, 1, b, alone);
  expect_copy("alltoall", from, a, to, wanted, b);
  /* Plain cells on one side. */
  MPI_Datatype row;
  MPI_Type_contiguous(cells, MPI_DOUBLE, &row);
  MPI_Type_commit(&row);
  const MPI_Datatype cell = MPI_DOUBLE;
  clear(to, wanted);
  MPI_Alltoallw(from, &one, &zero, &a, to, &cells, &zero, &cell, alone);
  expect_copy("alltoallw to a row", from, a, to, wanted, row);
  clear(to, wanted);
  MPI_Alltoall(from, cells, MPI_DOUBLE, to, 1, b, alone);
  expect_copy("alltoall from a row", from, row, to, wanted, b);
  MPI_Type_free(&row);
  MPI_Type_free(&a);
  MPI_Type_free(&b);
}

/* What is empty or in place is the host's; an address can be in the datatype. */
static void check_edges(MPI_Comm alone, double* from, double* to, double* wanted) {
  const int lengths[3] = {2, 3, 4}, one = 1, none = 0;
  MPI_Datatype part = part_of_cube(lengths, MPI_DOUBLE), absolute;
  MPI_Aint address;
  clear(to, wanted);
  MPI_Alltoallw(from, &none, &none, &part, to, &none, &none, &part, alone);
  MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, to, &one, &none, &part, alone);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, 1, part, alone);
  int wrong = 0;
  for (int i = 0; i < kCells; ++i) wrong += to[i] != -1;
  expect(wrong == 0, "nothing is to be moved: %d cells are wrong", wrong);
  MPI_Get_address(from, &address);
  MPI_Type_create_hindexed(1, &one, &address, part, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Alltoallw(MPI_BOTTOM, &one, &none, &absolute, to, &one, &none, &part, alone);
  expect_copy("alltoallw at MPI_BOTTOM", from, part, to, wanted, part);
  MPI_Type_free(&absolute);
  MPI_Type_free(&part);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 50;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &part);
  double* cells = malloc(3 * kCells * sizeof *cells);
  for (int i = 0; i < kCells; ++i) cells[i] = rank * kCells + i;
  for (int i = 0; i < rounds; ++i) {
    check_random_parts(i % 2 ? part : MPI_COMM_SELF, cells, cells + kCells, cells + 2 * kCells);
  }
  check_edges(part, cells, cells + kCells, cells + 2 * kCells);
  MPI_Comm_free(&part);
  free(cells);
  return finish();
}
