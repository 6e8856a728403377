/* Calls with invalid arguments: prints the error class that each returns. The output must be the
 * same with and without the add-on. */
#include "tests/mpi/program/check.h"

static int rank;

static void show(const char* what, int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (rank == 0) printf("%s: %d\n", what, class), fflush(stdout);
}

static void count_calls(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  if (rank == 0) printf("handler called: %s\n", *code == MPI_SUCCESS ? "no error" : "error");
}

static void user_handler(int* send, int* receive) {
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(count_calls, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  show("with a handler", MPI_Alltoall(send, -1, MPI_INT, receive, 1, MPI_INT, comm));
  show("with a handler, good", MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, comm));
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

/* Arguments that are wrong on every rank. Arguments that only the root reads are valid: with wrong
 * ones the host itself leaves other ranks waiting. */
static void moves(int* a, int* b) {
  const MPI_Comm w = MPI_COMM_WORLD, none = MPI_COMM_NULL;
  const MPI_Datatype t = MPI_INT, gone = MPI_DATATYPE_NULL;
  int *one = calloc(64, sizeof *one), *at = calloc(64, sizeof *at);
  for (int i = 0; i < 64; ++i) one[i] = 1, at[i] = i;
  show("barrier, no communicator", MPI_Barrier(none));
  show("bcast, negative count", MPI_Bcast(a, -1, t, 0, w));
  show("bcast, no type", MPI_Bcast(a, 1, gone, 0, w));
  show("bcast, root too large", MPI_Bcast(a, 1, t, 64, w));
  show("bcast, root negative", MPI_Bcast(a, 1, t, -7, w));
  show("bcast, no communicator", MPI_Bcast(a, 1, t, 0, none));
  show("scatter, root too large", MPI_Scatter(a, 1, t, b, 1, t, 64, w));
  show("scatterv, root too large", MPI_Scatterv(a, one, at, t, b, 1, t, 64, w));
  show("gather, root too large", MPI_Gather(a, 1, t, b, 1, t, 64, w));
  show("gatherv, root too large", MPI_Gatherv(a, 1, t, b, one, at, t, 64, w));
  show("gather, negative count", MPI_Gather(a, -1, t, b, -1, t, 0, w));
  show("gather, no type", MPI_Gather(a, 1, gone, b, 1, gone, 0, w));
  show("allgather, negative count", MPI_Allgather(a, 1, t, b, -1, t, w));
  show("allgather, no type", MPI_Allgather(a, 1, t, b, 1, gone, w));
  show("allgatherv, no type", MPI_Allgatherv(a, 1, gone, b, one, at, t, w));
  show("allgatherv", MPI_Allgatherv(a, 1, t, b, one, at, t, w));
  free(one);
  free(at);
}

static void ignore(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

static void reductions(int* a, int* b) {
  const MPI_Comm w = MPI_COMM_WORLD;
  const MPI_Datatype t = MPI_INT, gone = MPI_DATATYPE_NULL;
  int* one = calloc(64, sizeof *one);
  MPI_Datatype row, raw;
  MPI_Op own;
  for (int i = 0; i < 64; ++i) one[i] = 1;
  MPI_Type_contiguous(2, t, &row);
  MPI_Type_commit(&row);
  MPI_Type_contiguous(2, t, &raw);
  MPI_Op_create(ignore, 1, &own);
  show("reduce, root too large", MPI_Reduce(a, b, 1, t, MPI_SUM, 64, w));
  show("reduce, no operation", MPI_Reduce(a, b, 1, t, MPI_OP_NULL, 0, w));
  show("allreduce, no operation", MPI_Allreduce(a, b, 1, t, MPI_OP_NULL, w));
  show("allreduce, no type", MPI_Allreduce(a, b, 1, gone, MPI_SUM, w));
  show("allreduce, sum of a derived type", MPI_Allreduce(a, b, 1, row, MPI_SUM, w));
  show("allreduce, bits of numbers", MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_BAND, w));
  show("allreduce, places of numbers", MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_MAXLOC, w));
  show("allreduce, sum of pairs", MPI_Allreduce(a, b, 1, MPI_DOUBLE_INT, MPI_SUM, w));
  show("allreduce, order of complex", MPI_Allreduce(a, b, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, w));
  show("allreduce, replace", MPI_Allreduce(a, b, 1, t, MPI_REPLACE, w));
  show("allreduce, own of a derived type", MPI_Allreduce(a, b, 1, row, own, w));
  show("allreduce, own of an uncommitted type", MPI_Allreduce(a, b, 1, raw, own, w));
  show("allreduce, in place to receive", MPI_Allreduce(a, MPI_IN_PLACE, 1, t, MPI_SUM, w));
  show("scan, no operation", MPI_Scan(a, b, 1, t, MPI_OP_NULL, w));
  show("exscan, sum of a derived type", MPI_Exscan(a, b, 1, row, MPI_SUM, w));
  show("reduce_scatter", MPI_Reduce_scatter(a, b, one, t, MPI_SUM, w));
  MPI_Op_free(&own);
  MPI_Type_free(&row);
  MPI_Type_free(&raw);
  free(one);
}

/* MPICH takes MPI_DATATYPE_NULL in an alltoallw where the count is 0. On some ranks only, as counts
 * differ between ranks. */
static void types_of_nothing(int size) {
  int counts[64] = {0}, at[64] = {0}, sent = rank + 1, received = 0;
  MPI_Datatype types[64];
  for (int i = 0; i < size; ++i) types[i] = MPI_INT;
#ifndef OPEN_MPI
  for (int i = 0; rank % 2 == 1 && i < size; ++i) types[i] = MPI_DATATYPE_NULL;
  types[rank] = MPI_INT;
#endif
  counts[rank] = 1;
  show("alltoallw with itself alone",
       MPI_Alltoallw(&sent, counts, at, types, &received, counts, at, types, MPI_COMM_WORLD));
  expect(received == rank + 1, "an alltoallw of one number gave %d", received);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *send = calloc((size_t)size * 64, sizeof(int)),
      *receive = calloc((size_t)size * 64, sizeof(int));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm w = MPI_COMM_WORLD;
  for (int turn = 0; turn < 2; ++turn) {
    show("good", MPI_Alltoall(send, 2, MPI_INT, receive, 2, MPI_INT, w));
    show("negative send count", MPI_Alltoall(send, -1, MPI_INT, receive, 1, MPI_INT, w));
    show("negative receive count", MPI_Alltoall(send, 1, MPI_INT, receive, -1, MPI_INT, w));
    show("no send type", MPI_Alltoall(send, 1, MPI_DATATYPE_NULL, receive, 1, MPI_INT, w));
    show("no receive type", MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_DATATYPE_NULL, w));
    show("no communicator", MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_NULL));
    show("in place to receive", MPI_Alltoall(send, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, w));
    MPI_Datatype raw;
    MPI_Type_contiguous(2, MPI_INT, &raw);
    show("uncommitted send type", MPI_Alltoall(send, 1, raw, receive, 2, MPI_INT, w));
    show("uncommitted receive type", MPI_Alltoall(send, 2, MPI_INT, receive, 1, raw, w));
    MPI_Type_commit(&raw);
    show("committed", MPI_Alltoall(send, 1, raw, receive, 2, MPI_INT, w));
    MPI_Type_free(&raw);
  }
  moves(send, receive);
  reductions(send, receive);
  types_of_nothing(size);
  user_handler(send, receive);
  free(send);
  free(receive);
  return finish();
}
