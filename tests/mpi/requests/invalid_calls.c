/* Collectives with invalid arguments while another one of the communicator is pending: the MPI
 * refuses each in the call itself, and calls the communicator's error handler there. Prints the
 * error class of each, which must be the same with and without the add-on.
 *
 *   invalid_calls [jumps]
 *
 * "jumps": the handler leaves the calls by longjmp. */
#include <setjmp.h>

#include "tests/mpi/program/check.h"
#include "tests/mpi/program/persistent.h"

enum { kInts = 64 };

static int rank, size, jumps, handled;
static MPI_Comm comm; /* with the handler that is tested */
static MPI_Comm grid; /* likewise, a ring */
static jmp_buf place;

static void handle(MPI_Comm* of, int* code, ...) {
  (void)of, (void)code;
  ++handled;
  if (jumps) longjmp(place, *code);
}

/* One call is pending on both communicators of rank 0 until the others hear of it. */
static MPI_Request pending[2];
static int mine[2], sums[2];

static void begin_pending(void) {
  for (int i = 0; i < 2; ++i) {
    mine[i] = rank + i;
    sums[i] = -1;
    const int code =
        MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_INT, MPI_SUM, i == 0 ? comm : grid, &pending[i]);
    expect(code == MPI_SUCCESS, "a valid call returns %d", code);
  }
}

static void end_pending(const char* what) {
  const int wanted = size * (size - 1) / 2;
  for (int i = 0; i < 2; ++i) {
    const int code = MPI_Wait(&pending[i], MPI_STATUS_IGNORE);
    expect(code == MPI_SUCCESS, "%s: waiting returns %d", what, code);
    expect(sums[i] == wanted + i * size, "%s: the sum is %d", what, sums[i]);
  }
}

/* Rank 0 makes its invalid calls while no other rank has begun what is pending. */
static void wait_for_rank_0(void) {
  int word = 0;
  if (rank != 0) MPI_Recv(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void let_others_go(void) {
  for (int i = 1; rank == 0 && i < size; ++i) MPI_Send(&i, 1, MPI_INT, i, 7, MPI_COMM_WORLD);
}

/* What the call returned. A request must not have come of it; one that has is waited for. */
static void show(const char* what, int code, MPI_Request* request) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (rank == 0) printf("%s: %d, handler called %d times\n", what, class, handled), fflush(stdout);
  expect(code != MPI_SUCCESS, "%s is not refused", what);
  expect(handled == 1, "%s calls the handler %d times", what, handled);
  if (code == MPI_SUCCESS && *request != MPI_REQUEST_NULL) {
    let_others_go();
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
}

/* `call` is to be refused. Its handler may leave it. */
#define REFUSED(what, call)                                   \
  do {                                                        \
    MPI_Request request = MPI_REQUEST_NULL;                   \
    handled = 0;                                              \
    const int jumped = jumps ? setjmp(place) : 0;             \
    if (jumped == 0) {                                        \
      const int code = call;                                  \
      expect(!jumps, "%s: the handler was not called", what); \
      show(what, code, &request);                             \
    } else {                                                  \
      show(what, jumped, &request);                           \
    }                                                         \
  } while (0)

static int from[kInts], to[kInts], one[kInts], minus[kInts], at[kInts];
static MPI_Datatype types[kInts], no_types[kInts];

static void moves(void) {
  const MPI_Datatype t = MPI_INT, gone = MPI_DATATYPE_NULL;
  int *a = from, *b = to;
  MPI_Datatype raw;
  MPI_Type_contiguous(2, t, &raw);
  REFUSED("ibcast, negative count", MPI_Ibcast(a, -1, t, 0, comm, &request));
  REFUSED("ibcast, no type", MPI_Ibcast(a, 1, gone, 0, comm, &request));
  REFUSED("ibcast, root too large", MPI_Ibcast(a, 1, t, size, comm, &request));
  REFUSED("ibcast, uncommitted", MPI_Ibcast(a, 1, raw, 0, comm, &request));
  REFUSED("iscatter, root", MPI_Iscatter(a, 1, t, b, 1, t, -5, comm, &request));
  REFUSED("iscatterv, root", MPI_Iscatterv(a, one, at, t, b, 1, t, size, comm, &request));
  REFUSED("igather, root", MPI_Igather(a, 1, t, b, 1, t, size, comm, &request));
  REFUSED("igather, no type", MPI_Igather(a, 1, gone, b, 1, gone, 0, comm, &request));
  REFUSED("igatherv, root", MPI_Igatherv(a, 1, t, b, one, at, t, size, comm, &request));
  REFUSED("iallgather, count", MPI_Iallgather(a, 1, t, b, -1, t, comm, &request));
  REFUSED("iallgatherv, no type", MPI_Iallgatherv(a, 1, gone, b, one, at, t, comm, &request));
  REFUSED("ialltoall, send count", MPI_Ialltoall(a, -1, t, b, 1, t, comm, &request));
  REFUSED("ialltoall, no type", MPI_Ialltoall(a, 1, t, b, 1, gone, comm, &request));
  REFUSED("ialltoallv, count", MPI_Ialltoallv(a, minus, at, t, b, one, at, t, comm, &request));
  REFUSED("ialltoallw, no type",
          MPI_Ialltoallw(a, one, at, types, b, one, at, no_types, comm, &request));
  REFUSED("ineighbor_allgather, count", MPI_Ineighbor_allgather(a, -1, t, b, 1, t, grid, &request));
  REFUSED("ineighbor_alltoall, no type",
          MPI_Ineighbor_alltoall(a, 1, gone, b, 1, t, grid, &request));
  MPI_Type_free(&raw);
}

static void reductions(void) {
  const MPI_Datatype t = MPI_INT, gone = MPI_DATATYPE_NULL;
  const MPI_Op s = MPI_SUM, none = MPI_OP_NULL;
  int *a = from, *b = to;
  MPI_Datatype row;
  MPI_Type_contiguous(2, t, &row);
  MPI_Type_commit(&row);
  REFUSED("ireduce, root", MPI_Ireduce(a, b, 1, t, s, size, comm, &request));
  REFUSED("iallreduce, no operation", MPI_Iallreduce(a, b, 1, t, none, comm, &request));
  REFUSED("iallreduce, nothing by it", MPI_Iallreduce(a, b, 0, t, none, comm, &request));
  REFUSED("iallreduce, no type", MPI_Iallreduce(a, b, 1, gone, s, comm, &request));
  REFUSED("iallreduce, derived", MPI_Iallreduce(a, b, 1, row, s, comm, &request));
  REFUSED("iallreduce, bits of numbers",
          MPI_Iallreduce(a, b, 1, MPI_DOUBLE, MPI_BAND, comm, &request));
  REFUSED("iallreduce, in place", MPI_Iallreduce(a, MPI_IN_PLACE, 1, t, s, comm, &request));
  REFUSED("iallreduce, one buffer", MPI_Iallreduce(a, a, 2, t, s, comm, &request));
  REFUSED("iscan, no operation", MPI_Iscan(a, b, 1, t, none, comm, &request));
  REFUSED("iexscan, derived", MPI_Iexscan(a, b, 1, row, s, comm, &request));
  REFUSED("ireduce_scatter, count", MPI_Ireduce_scatter(a, b, minus, t, s, comm, &request));
  REFUSED("ireduce_scatter_block", MPI_Ireduce_scatter_block(a, b, 1, gone, s, comm, &request));
  MPI_Type_free(&row);
}

static void others(void) {
  const MPI_Datatype t = MPI_INT;
  int *a = from, *b = to;
  const MPI_Info info = MPI_INFO_NULL;
  REFUSED("comm_idup, nowhere", MPI_Comm_idup(comm, NULL, &request));
  REFUSED("bcast, negative count", MPI_Bcast(a, -1, t, 0, comm));
  REFUSED("allreduce, no operation", MPI_Allreduce(a, b, 1, t, MPI_OP_NULL, comm));
  REFUSED("alltoallv, count", MPI_Alltoallv(a, minus, at, t, b, one, at, t, comm));
  REFUSED("bcast_init, root", INIT(Bcast)(a, 1, t, size, comm, info, &request));
  REFUSED("allreduce_init, no type",
          INIT(Allreduce)(a, b, 1, MPI_DATATYPE_NULL, MPI_SUM, comm, info, &request));
  REFUSED("alltoall_init, count", INIT(Alltoall)(a, -1, t, b, 1, t, comm, info, &request));
}

static void refused(const char* what, void group(void), int all) {
  if (rank == 0) printf("%s, on %s\n", what, all ? "all ranks" : "one rank"), fflush(stdout);
  wait_for_rank_0();
  begin_pending();
  if (rank == 0 || all) group();
  let_others_go();
  end_pending(what);
  int sum = 0;
  const int code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect(code == MPI_SUCCESS && sum == size * (size - 1) / 2, "%s: then %d, the sum is %d", what,
         code, sum);
  expect_ints_arrive(comm, 10, what);
}

static void prepare(void) {
  for (int i = 0; i < kInts; ++i) {
    one[i] = 1, minus[i] = -1, at[i] = i;
    types[i] = MPI_INT, no_types[i] = MPI_DATATYPE_NULL;
  }
  MPI_Errhandler handler;
  const int rings = 1;
  MPI_Comm_create_errhandler(handle, &handler);
  /* Open MPI calls that of MPI_COMM_WORLD where MPI_IN_PLACE is to receive. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &rings, 0, &grid);
  MPI_Comm_set_errhandler(grid, handler);
  MPI_Errhandler_free(&handler);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  jumps = argc > 1 && strcmp(argv[1], "jumps") == 0;
  prepare();
  for (int turn = 0; turn < 2; ++turn) {
    refused("moves", moves, turn);
    refused("reductions", reductions, turn);
    refused("others", others, turn);
  }
  MPI_Comm_free(&grid);
  MPI_Comm_free(&comm);
  return finish();
}
