/* Arguments that MPI refuses: prints the class that each call returns. The same with and without
 * the add-on. */
#include "check.h"

static int rank;

static void show(const char* what, int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (rank == 0) printf("%s: %d\n", what, class);
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

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *send = calloc((size_t)size * 8, sizeof(int)),
      *receive = calloc((size_t)size * 8, sizeof(int));
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
  user_handler(send, receive);
  free(send);
  free(receive);
  return finish();
}
