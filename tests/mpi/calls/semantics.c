/* Guarantees of MPI that programs rely on, a function each. */
#include "tests/mpi/program/check.h"

#include <dirent.h>
#include <time.h>

static int rank, size;

/* Predefined pairs have gaps that their size does not show, or that must not be written. */
static void pair_types(void) {
  typedef struct {
    double value;
    int index;
  } Pair;
  const size_t n = (size_t)size * 3;
  Pair *send = malloc(n * sizeof *send), *receive = malloc(n * sizeof *receive);
  memset(receive, 0x5a, n * sizeof *receive);
  for (size_t i = 0; i < n; ++i) {
    memset(&send[i], 0, sizeof *send);
    send[i].value = rank * 100.0 + (double)i;
    send[i].index = rank * 100 + (int)i;
  }
  MPI_Alltoall(send, 3, MPI_DOUBLE_INT, receive, 3, MPI_DOUBLE_INT, MPI_COMM_WORLD);
  for (size_t i = 0; i < n; ++i) {
    const int from = (int)i / 3, at = rank * 3 + (int)i % 3;
    unsigned char gap[sizeof(Pair) - sizeof(double) - sizeof(int)];
    memcpy(gap, (unsigned char*)&receive[i] + sizeof(double) + sizeof(int), sizeof gap);
    expect(receive[i].value == from * 100.0 + at && receive[i].index == from * 100 + at,
           "pair %zu is wrong", i);
    for (size_t g = 0; g < sizeof gap; ++g) expect(gap[g] == 0x5a, "the gap of a pair was written");
  }
  free(send);
  free(receive);
}

/* Null buffers are valid where there is nothing to exchange. */
static void nothing(void) {
  int untouched = 42;
  MPI_Datatype empty;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  expect(MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS,
         "zero counts");
  expect(
      MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, &untouched, 0, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS,
      "zero counts in place");
  expect(
      MPI_Alltoall(&untouched, 3, empty, &untouched + 1, 3, empty, MPI_COMM_WORLD) == MPI_SUCCESS,
      "an empty datatype");
  expect(untouched == 42, "zero counts wrote something");
  MPI_Type_free(&empty);
}

static void nothing_to_combine(void) {
  const int none[64] = {0};
  int untouched = 42;
  expect(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "no broadcast");
  expect(MPI_Gatherv(NULL, 0, MPI_INT, NULL, none, none, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS,
         "no gather");
  expect(MPI_Allgatherv(NULL, 0, MPI_INT, NULL, none, none, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS,
         "no allgather");
  expect(
      MPI_Allreduce(MPI_IN_PLACE, &untouched, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS,
      "no sum");
  expect(MPI_Reduce_scatter(MPI_IN_PLACE, &untouched, none, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
             MPI_SUCCESS,
         "no sums");
  expect(untouched == 42, "nothing to combine wrote something");
}

static void first_of_two(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  memcpy(inout, in, (size_t)*count * sizeof(int));
}

/* The handle of a freed operation is reused for an operation with another function. */
static void reused_operation_handles(void) {
  for (int turn = 0; turn < 6; ++turn) {
    MPI_Op op;
    int mine = rank + 1, result = 0;
    if (turn % 2 == 0) {
      MPI_Op_create(first_of_two, 0, &op);
      MPI_Allreduce(&mine, &result, 1, MPI_INT, op, MPI_COMM_WORLD);
      expect(result == 1, "turn %d of a reused operation: %d", turn, result);
      MPI_Op_free(&op);
    } else {
      MPI_Allreduce(&mine, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      expect(result == size, "turn %d of a predefined operation: %d", turn, result);
    }
  }
}

/* The datatype says where the data lies; the buffer is MPI_BOTTOM. */
static void absolute_addresses(void) {
  int *send = malloc(sizeof(int) * (size_t)size), *receive = malloc(sizeof(int) * (size_t)size);
  MPI_Datatype from, to, element;
  MPI_Aint address;
  const int one = 1;
  for (int i = 0; i < size; ++i) send[i] = rank * size + i;
  MPI_Get_address(send, &address);
  MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &element);
  MPI_Type_create_resized(element, 0, sizeof(int), &from);
  MPI_Type_free(&element);
  MPI_Get_address(receive, &address);
  MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &element);
  MPI_Type_create_resized(element, 0, sizeof(int), &to);
  MPI_Type_free(&element);
  MPI_Type_commit(&from);
  MPI_Type_commit(&to);
  MPI_Alltoall(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i)
    expect(receive[i] == i * size + rank, "absolute addresses: %d from %d", receive[i], i);
  MPI_Type_free(&from);
  MPI_Type_free(&to);
  free(send);
  free(receive);
}

/* Inter-communicators: the root passes MPI_ROOT, other ranks of its group MPI_PROC_NULL. */
static void intercommunicator_with_root(MPI_Comm inter, int side, int remote) {
  int own = 0, number = side == 0 ? 41 : -1, sum = 0, none = 0;
  MPI_Comm_rank(inter, &own);
  const int root = side == 1 ? 0 : own == 0 ? MPI_ROOT : MPI_PROC_NULL;
  if (side == 0 && own == 0) number = 42;
  MPI_Bcast(&number, 1, MPI_INT, root, inter);
  expect(side == 0 || number == 42, "an inter-communicator's broadcast: %d", number);
  int* all = calloc((size_t)remote, sizeof *all);
  MPI_Gather(&own, 1, MPI_INT, root == MPI_ROOT ? all : &none, 1, MPI_INT, root, inter);
  for (int i = 0; i < remote && root == MPI_ROOT; ++i)
    expect(all[i] == i, "an inter-communicator's gather: %d from %d", all[i], i);
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, inter);
  expect(sum == remote * (remote - 1) / 2, "an inter-communicator's sum: %d", sum);
  MPI_Barrier(inter);
  free(all);
}

static void intercommunicator(void) {
  if (size < 2) return;
  MPI_Comm half, inter;
  const int side = rank % 2;
  int remote = 0, own = 0, wrong = 0;
  MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 5, &inter);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_rank(inter, &own);
  int *send = malloc(sizeof(int) * (size_t)remote), *receive = malloc(sizeof(int) * (size_t)remote);
  for (int i = 0; i < remote; ++i) send[i] = side * 10000 + own * 100 + i;
  MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, inter);
  for (int i = 0; i < remote; ++i) wrong += receive[i] != (1 - side) * 10000 + i * 100 + own;
  expect(wrong == 0, "an inter-communicator: %d wrong", wrong);
  intercommunicator_with_root(inter, side, remote);
  MPI_Comm merged;
  MPI_Intercomm_merge(inter, side, &merged);
  expect_ints_arrive(merged, 3, "a merged communicator");
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  free(send);
  free(receive);
}

/* The handle of a freed datatype is reused: facts cached of the old type are wrong for the new. */
static void reused_type_handles(void) {
  const int n = size * 4;
  for (int turn = 0; turn < 20; ++turn) {
    MPI_Datatype type;
    if (turn % 2 == 0) {
      MPI_Type_contiguous(2, MPI_INT, &type);
    } else {
      const int lengths[2] = {1, 1}, at[2] = {1, 0};
      MPI_Type_indexed(2, lengths, at, MPI_INT, &type);
    }
    MPI_Type_commit(&type);
    int *send = malloc(sizeof(int) * (size_t)n), *receive = calloc((size_t)n, sizeof(int));
    for (int i = 0; i < n; ++i) send[i] = rank * 1000 + i;
    MPI_Alltoall(send, 2, type, receive, 4, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) {
      const int at = i % 4, swapped = turn % 2 == 0 ? at : at ^ 1;
      expect(receive[i] == (i / 4) * 1000 + rank * 4 + swapped, "turn %d of a reused handle", turn);
    }
    MPI_Type_free(&type);
    free(send);
    free(receive);
  }
}

static int copies = 0, deletions = 0;

static int on_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra;
  ++copies;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  ++deletions;
  return MPI_SUCCESS;
}

/* The program's own attributes are copied and deleted by its calls, and only then. */
static void attributes(void) {
  MPI_Comm comm, second;
  int keyval;
  MPI_Comm_create_keyval(on_copy, on_delete, &keyval, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_attr(comm, keyval, &copies);
  expect_ints_arrive(comm, 2, "a communicator with attributes");
  expect(copies == 0, "attributes were copied %d times", copies);
  MPI_Comm_dup(comm, &second);
  expect_ints_arrive(second, 2, "a duplicate");
  MPI_Comm_free(&comm);
  expect_ints_arrive(second, 2, "a duplicate whose original is gone");
  MPI_Comm_free(&second);
  expect(copies == 1 && deletions == 2, "%d copies, %d deletions", copies, deletions);
  MPI_Comm_free_keyval(&keyval);
}

static int entries(const char* folder) {
  int count = 0;
  DIR* directory = opendir(folder);
  while (directory != NULL && readdir(directory) != NULL) ++count;
  if (directory != NULL) closedir(directory);
  return count;
}

static int lines(const char* path) {
  int count = 0;
  FILE* file = fopen(path, "r");
  for (int c; file != NULL && (c = fgetc(file)) != EOF;) count += c == '\n';
  if (file != NULL) fclose(file);
  return count;
}

/* No files and no mappings are left when a communicator is freed. */
static void communicators_come_and_go(void) {
  int files = 0, maps = 0;
  for (int turn = 0; turn < 40; ++turn) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    expect_ints_arrive(comm, 1 + turn % 3, "a communicator of many");
    MPI_Comm_free(&comm);
    if (turn == 10) {
      files = entries("/proc/self/fd");
      maps = lines("/proc/self/maps");
    }
  }
  const int more_files = entries("/proc/self/fd") - files;
  const int more_maps = lines("/proc/self/maps") - maps;
  expect(more_files < 20, "%d file descriptors stay behind", more_files);
  expect(more_maps < 40, "%d mappings stay behind", more_maps);
}

/* Rank 1 receives a large message before it calls the alltoall; rank 0, waiting there already, must
 * send the rest of it meanwhile. */
static void host_moves_on(void) {
  const int bytes = 4 << 20;
  if (size < 2) return;
  char* data = calloc((size_t)bytes, 1);
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) {
      memset(data, 'a' + turn, (size_t)bytes);
      MPI_Isend(data, bytes, MPI_CHAR, 1, turn, MPI_COMM_WORLD, &request);
    } else if (rank == 1) {
      MPI_Recv(data, bytes, MPI_CHAR, 0, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(data[0] == 'a' + turn && data[bytes - 1] == 'a' + turn, "the large message is wrong");
    }
    expect_ints_arrive(MPI_COMM_WORLD, 4, "an alltoall behind a large message");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  free(data);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time); /* one for all processes of a machine */
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* No rank may leave a barrier before the last has entered it. */
static void barriers(void) {
  for (int turn = 0; turn < 20; ++turn) {
    double came = now(), last = 0;
    const double until = came + (turn % size == rank ? 0.002 : 0);
    while (came < until) came = now();
    MPI_Barrier(MPI_COMM_WORLD);
    const double left = now();
    MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    expect(left >= last, "a rank left a barrier %g s too early", last - left);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  pair_types();
  nothing();
  nothing_to_combine();
  reused_operation_handles();
  absolute_addresses();
  expect_ints_arrive(MPI_COMM_SELF, 5, "MPI_COMM_SELF");
  intercommunicator();
  reused_type_handles();
  attributes();
  communicators_come_and_go();
  host_moves_on();
  barriers();
  return finish();
}
