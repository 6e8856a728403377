/* Calls under WEFT_CHECK=1: those that MPI takes for the same pass, however their datatypes are
 * built; of those that differ every rank gets an error that names both. */
#include "tests/mpi/program/check.h"

static int rank, size;

static MPI_Comm errors_return(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

/* One rank gives four elements as one of a type that holds four. */
static void same_signature(void) {
  MPI_Datatype four, row;
  double data[4] = {0};
  MPI_Type_contiguous(4, MPI_DOUBLE, &four);
  MPI_Type_vector(2, 2, 2, MPI_DOUBLE, &row);
  MPI_Type_commit(&four);
  MPI_Type_commit(&row);
  for (int round = 0; round < 3; ++round) {
    if (rank == 0) data[3] = round + 1;
    const int error = rank == 0   ? MPI_Bcast(data, 1, four, 0, MPI_COMM_WORLD)
                      : rank == 1 ? MPI_Bcast(data, 1, row, 0, MPI_COMM_WORLD)
                                  : MPI_Bcast(data, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    expect(error == MPI_SUCCESS, "rank %d: a call of the same signature fails", rank);
    expect(data[3] == round + 1, "rank %d has %f", rank, data[3]);
  }
  MPI_Type_free(&four);
  MPI_Type_free(&row);
}

static void expect_error(int error, const char* here, const char* there) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  expect(error != MPI_SUCCESS, "rank %d: no error", rank);
  MPI_Error_string(error, text, &length);
  expect(strstr(text, here) != NULL && strstr(text, there) != NULL, "rank %d: %s", rank, text);
}

static void other_operation(void) {
  MPI_Comm comm = errors_return();
  int in = 1, out = 0;
  MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
  expect(out == size, "rank %d has %d", rank, out);
  const MPI_Op op = rank == size - 1 ? MPI_MAX : MPI_SUM;
  expect_error(MPI_Allreduce(&in, &out, 1, MPI_INT, op, comm), "MPI_SUM on rank 0", "MPI_MAX");
  MPI_Comm_free(&comm);
}

static void other_type(void) {
  MPI_Comm comm = errors_return();
  double data[2] = {0};
  const int odd = rank == size - 1;
  expect_error(MPI_Bcast(data, odd ? 4 : 2, odd ? MPI_INT : MPI_DOUBLE, 0, comm), "MPI_DOUBLE",
               "MPI_INT");
  MPI_Comm_free(&comm);
}

static void other_root(void) {
  MPI_Comm comm = errors_return();
  double data[2] = {0};
  expect_error(MPI_Bcast(data, 2, MPI_DOUBLE, rank == 0, comm), "with root 0", "with root 1");
  MPI_Comm_free(&comm);
}

/* Each pair exchanges elements of its own number; the last rank gives them as one of a type that
 * holds them, and sends to rank 0 what `wrong` says. */
static int exchange(MPI_Comm comm, MPI_Datatype wrong) {
  enum { kMost = 64 };
  static int in[kMost * kMost], out[kMost * kMost];
  int counts[kMost], receives[kMost], places[kMost], bytes[kMost];
  MPI_Datatype send_types[kMost], types[kMost];
  MPI_Datatype made[kMost];
  for (int peer = 0; peer < size; ++peer) {
    const int elements = 2 * (1 + (rank + peer) % 3);
    places[peer] = 8 * peer;
    bytes[peer] = 32 * peer;
    counts[peer] = receives[peer] = elements;
    types[peer] = send_types[peer] = MPI_INT;
    MPI_Type_vector(elements, 1, 1, MPI_INT, &made[peer]);
    MPI_Type_commit(&made[peer]);
    if (rank == size - 1) {
      counts[peer] = 1;
      send_types[peer] = made[peer];
    }
  }
  if (rank == size - 1 && wrong != MPI_INT) {
    int width = 0;
    MPI_Type_size(wrong, &width);
    send_types[0] = wrong;
    counts[0] = receives[0] * 4 / width;
  }
  const int error = MPI_Alltoallw(in, counts, bytes, send_types, out, receives, bytes, types, comm);
  int last = error;
  if (error == MPI_SUCCESS) {
    for (int peer = 0; peer < size; ++peer) counts[peer] = receives[peer];
    last = MPI_Alltoallv(in, counts, places, MPI_INT, out, receives, places, MPI_INT, comm);
  }
  for (int peer = 0; peer < size; ++peer) MPI_Type_free(&made[peer]);
  return last;
}

static void other_parts(void) {
  MPI_Comm comm = errors_return();
  expect(exchange(comm, MPI_INT) == MPI_SUCCESS, "rank %d: parts of one signature fail", rank);
  expect_error(exchange(comm, MPI_FLOAT), "of MPI_FLOAT to rank 0", "of MPI_INT from rank");
  MPI_Comm_free(&comm);
}

/* The root scatters pairs of int; all take them so, but for the last, which takes doubles. */
static void other_parts_of_a_root(void) {
  enum { kMost = 64 };
  MPI_Comm comm = errors_return();
  int all[2 * kMost] = {0}, counts[kMost], places[kMost], own[2] = {0};
  for (int peer = 0; peer < size; ++peer) {
    counts[peer] = 2;
    places[peer] = 2 * peer;
  }
  const int last = rank == size - 1;
  expect(MPI_Scatterv(all, counts, places, MPI_INT, own, 2, MPI_INT, 0, comm) == MPI_SUCCESS &&
             MPI_Gatherv(own, 2, MPI_INT, all, counts, places, MPI_INT, 0, comm) == MPI_SUCCESS,
         "rank %d: parts of one signature fail", rank);
  expect_error(MPI_Scatterv(all, counts, places, MPI_INT, own, last ? 1 : 2,
                            last ? MPI_DOUBLE : MPI_INT, 0, comm),
               "2 of MPI_INT to rank", "1 of MPI_DOUBLE from rank 0");
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  same_signature();
  other_operation();
  other_type();
  other_root();
  other_parts();
  other_parts_of_a_root();
  return finish();
}
