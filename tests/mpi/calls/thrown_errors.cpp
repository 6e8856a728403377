// Error handlers that leave MPI by an exception: it goes through the add-on, and calls after it are
// as they were. Debian's MPIs let exceptions through.
#include <stdexcept>

#include "tests/mpi/program/check.h"

namespace {

int caught = 0;

void throw_error(MPI_Comm* /*comm*/, int* code, ...) {
  throw std::runtime_error(std::to_string(*code));
}

template <class Call>
void expect_thrown(Call call, const char* what) {
  const int before = caught;
  try {
    call();
  } catch (const std::runtime_error&) {
    ++caught;
  }
  expect(caught == before + 1, "no exception of %s", what);
}

void check_calls(MPI_Comm comm) {
  int rank = 0, size = 0, value = 0, sum = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Request request = MPI_REQUEST_NULL;
  expect_thrown([&] { MPI_Bcast(&value, -1, MPI_INT, 0, comm); }, "a negative count");
  expect_thrown([&] { MPI_Bcast(&value, 1, MPI_INT, size + 5, comm); }, "a root that is none");
  expect_thrown([&] { MPI_Allreduce(&value, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, comm); },
                "no datatype");
  expect_thrown(
      [&] { MPI_Iallreduce(&value, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, comm, &request); },
      "no datatype of a request");
  value = rank;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect(sum == size * (size - 1) / 2, "the sum is %d", sum);
  MPI_Iallreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(value == sum, "the sum of a request is %d", value);
  expect_ints_arrive(comm, 100, "after an exception");
}

/// The same while a call is pending: rank 0 makes them before the others begin that call.
void check_calls_behind(MPI_Comm comm) {
  int rank = 0, size = 0, sum = 0, word = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Request pending = MPI_REQUEST_NULL, request = MPI_REQUEST_NULL;
  if (rank != 0) MPI_Recv(&word, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &pending);
  expect_thrown([&] { MPI_Ibcast(&word, 1, MPI_INT, size, comm, &request); }, "a pending root");
  expect_thrown([&] { MPI_Iallreduce(&word, &sum, 1, MPI_INT, MPI_OP_NULL, comm, &request); },
                "no operation of a pending call");
  expect_thrown([&] { MPI_Bcast(&word, -1, MPI_INT, 0, comm); }, "a count behind a pending call");
  expect_thrown([&] { MPI_Comm_idup(comm, nullptr, &request); }, "no place for a communicator");
  for (int i = 1; rank == 0 && i < size; ++i) MPI_Send(&word, 1, MPI_INT, i, 7, comm);
  MPI_Wait(&pending, MPI_STATUS_IGNORE);
  expect(sum == size * (size - 1) / 2, "the sum of a pending call is %d", sum);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(throw_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (int turn = 0; turn < 20; ++turn) {
    check_calls(MPI_COMM_WORLD);
    check_calls_behind(MPI_COMM_WORLD);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    check_calls(copy);
    check_calls_behind(copy);
    MPI_Comm_free(&copy);
  }
  MPI_Errhandler_free(&handler);
  return finish();
}
