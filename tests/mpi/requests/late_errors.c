/* Errors that are found while a call is under way, behind another one: the function that completes
 * the request calls the error handler, which may leave it by longjmp.
 *
 *   late_errors [jumps]
 *
 * Broadcasts are to be the MPI's (WEFT_DISABLE=broadcast). */
#include <setjmp.h>

#include "tests/mpi/program/check.h"
#include "tests/mpi/program/persistent.h"

enum { kInts = 100 };

static int rank, size, jumps, handled;
static jmp_buf place;

static void handle(MPI_Comm* of, int* code, ...) {
  (void)of;
  ++handled;
  if (jumps) longjmp(place, *code);
}

/* Ranks but the first have no room for what is broadcast. */
static void broadcast(int* values, MPI_Comm comm, MPI_Request* request) {
  const int code = MPI_Ibcast(values, rank == 0 ? kInts : 1, MPI_INT, 0, comm, request);
  expect(code == MPI_SUCCESS, "a start returns %d", code);
}

/* The first rank begins when the others have begun, whose calls are pending until then. */
static void let_others_begin(void) {
  int word = 0;
  for (int i = 1; rank == 0 && i < size; ++i)
    MPI_Recv(&word, 1, MPI_INT, i, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void has_begun(void) {
  if (rank != 0) MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
}

/* It is of the class MPI_ERR_TRUNCATE in Open MPI alone. */
static void expect_error(int code) {
  expect((code != MPI_SUCCESS) == (rank != 0), "code %d on rank %d", code, rank);
  expect(handled == (rank != 0), "the handler was called %d times", handled);
  handled = 0;
}

static void expect_sum(int sum, const char* what) {
  expect(sum == size * (size - 1) / 2, "%s: the sum is %d on rank %d", what, sum, rank);
}

/* A sum, and a broadcast behind it that fails. */
static void begin_two(MPI_Comm comm, int* sum, MPI_Request* first, MPI_Request* failing) {
  static int values[kInts];
  let_others_begin();
  MPI_Iallreduce(&rank, sum, 1, MPI_INT, MPI_SUM, comm, first);
  broadcast(values, comm, failing);
  has_begun();
}

static void wait_for_one(MPI_Comm comm) {
  static int sum;
  static MPI_Request first, failing;
  begin_two(comm, &sum, &first, &failing);
  const int jumped = setjmp(place);
  expect_error(jumped != 0 ? jumped : MPI_Wait(&failing, MPI_STATUS_IGNORE));
  expect(failing == MPI_REQUEST_NULL, "a request that has failed is not null");
  MPI_Wait(&first, MPI_STATUS_IGNORE);
  expect_sum(sum, "the first");
}

/* It has ended before, and nothing else is under way. */
static void wait_for_ended(MPI_Comm comm) {
  static int sum;
  static MPI_Request first, failing;
  begin_two(comm, &sum, &first, &failing);
  MPI_Wait(&first, MPI_STATUS_IGNORE);
  for (int done = 0; !done;) MPI_Request_get_status(failing, &done, MPI_STATUS_IGNORE);
  expect(handled == 0, "a look at a request calls the handler");
  const int jumped = setjmp(place);
  expect_error(jumped != 0 ? jumped : MPI_Wait(&failing, MPI_STATUS_IGNORE));
}

/* Together with the one before it, and with a persistent one, which can be started again. */
static void wait_for_all(MPI_Comm comm) {
  static int values[kInts];
  static int first, sum;
  static MPI_Request requests[3];
  MPI_Status statuses[3];
  INIT(Allreduce)(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
  let_others_begin();
  MPI_Start(&requests[0]);
  MPI_Iallreduce(&rank, &first, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
  broadcast(values, comm, &requests[2]);
  has_begun();
  const int jumped = setjmp(place);
  expect_error(jumped != 0 ? jumped : MPI_Waitall(3, requests, statuses));
  expect(requests[1] == MPI_REQUEST_NULL, "a request that has ended is not null");
  expect(requests[2] == MPI_REQUEST_NULL, "a request that has failed is not null");
  expect_sum(first, "the first");
  expect_sum(sum, "a persistent call");
  sum = -1;
  MPI_Start(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  expect_sum(sum, "a persistent call that is started again");
  MPI_Request_free(&requests[0]);
}

static void on_own_communicator(void body(MPI_Comm comm), MPI_Errhandler handler) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  body(comm);
  MPI_Comm_free(&comm);
  expect_ints_arrive(MPI_COMM_WORLD, 10, "after an error");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  jumps = argc > 1 && strcmp(argv[1], "jumps") == 0;
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  /* That of Open MPI's own nonblocking collectives. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (int turn = 0; turn < 3; ++turn) {
    on_own_communicator(wait_for_one, handler);
    on_own_communicator(wait_for_ended, handler);
    on_own_communicator(wait_for_all, handler);
  }
  MPI_Errhandler_free(&handler);
  return finish();
}
