/* Calls under WEFT_CHECK=1: those that MPI takes for the same pass, however their datatypes are
 * built; of those that differ every rank gets an error that names both. */
#include "check.h"

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

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  same_signature();
  other_operation();
  other_type();
  other_root();
  return finish();
}
