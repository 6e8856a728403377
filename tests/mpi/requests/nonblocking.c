/* Nonblocking collectives, many at once: on several communicators, started by each rank in another
 * order of communicators, completed in any order and by any of MPI's functions, in arrays together
 * with requests of point-to-point messages; with datatypes, operations and communicators that are
 * freed while they are under way.
 *
 *   nonblocking [ROUNDS [SEED [mismatch | mismatch-of-one]]]
 *
 * "mismatch" also has ranks make different calls, which weft tells them all, but no host does;
 * "mismatch-of-one": completed by functions for one request, as Open MPI's own say nothing of the
 * others of several. */
#include <pthread.h>
#include <sched.h>

#include "tests/mpi/program/complete.h"

enum { kMost = 12, kMany = 5 }; /* calls of a communicator at once, communicators */

typedef struct Call Call;
struct Call {
  MPI_Comm comm;
  int kind, count, root, rank, size, round;
  int *send, *receive;
  int *counts, *places, *bytes; /* of the v and w forms; counts in ints, places in bytes */
  MPI_Datatype *types, type;
  MPI_Op op;
};

enum { kAlltoall, kAlltoallv, kAlltoallw, kAllreduce, kBcast, kAllgather, kBarrier, kScan, kKinds };

/* What rank `from` gives for `to` at place `i`, in this call. */
static int given(const Call* call, int from, int to, int i) {
  return call->round * 7919 + call->kind * 104729 + from * 1013 + to * 31 + i;
}

static pthread_t program_thread;

/* The program has one thread: its functions are called by no other. */
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  expect(pthread_equal(pthread_self(), program_thread), "an operation runs in another thread");
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void fill(Call* call) {
  const size_t all = (size_t)call->size * (size_t)(call->count + 1);
  call->send = malloc(sizeof(int) * all);
  call->receive = malloc(sizeof(int) * all);
  call->counts = malloc(sizeof(int) * (size_t)call->size);
  call->places = malloc(sizeof(int) * (size_t)call->size);
  call->bytes = malloc(sizeof(int) * (size_t)call->size);
  call->types = malloc(sizeof(MPI_Datatype) * (size_t)call->size);
  for (size_t i = 0; i < all; ++i) call->receive[i] = -1;
  for (int to = 0; to < call->size; ++to) {
    call->counts[to] = call->count;
    call->places[to] = to * call->count;
    call->bytes[to] = to * call->count * (int)sizeof(int);
    call->types[to] = MPI_INT;
    for (int i = 0; i < call->count; ++i)
      call->send[to * call->count + i] = given(call, call->rank, to, i);
  }
}

/* Begins it; what it uses and the program may free is freed at once. */
static void begin(Call* call, MPI_Request* request) {
  const int count = call->count;
  switch (call->kind) {
    case kAlltoall:
      /* A datatype of its own, not contiguous in the eyes of weft. */
      MPI_Type_vector(count, 1, 1, MPI_INT, &call->type);
      MPI_Type_commit(&call->type);
      MPI_Ialltoall(call->send, 1, call->type, call->receive, count, MPI_INT, call->comm, request);
      MPI_Type_free(&call->type);
      expect(call->type == MPI_DATATYPE_NULL, "a freed datatype is not null");
      break;
    case kAlltoallv:
      MPI_Ialltoallv(call->send, call->counts, call->places, MPI_INT, call->receive, call->counts,
                     call->places, MPI_INT, call->comm, request);
      break;
    case kAlltoallw:
      MPI_Ialltoallw(call->send, call->counts, call->bytes, call->types, call->receive,
                     call->counts, call->bytes, call->types, call->comm, request);
      break;
    case kAllreduce:
      MPI_Op_create(&add, 1, &call->op);
      MPI_Iallreduce(call->send, call->receive, count, MPI_INT, call->op, call->comm, request);
      MPI_Op_free(&call->op);
      expect(call->op == MPI_OP_NULL, "a freed operation is not null");
      break;
    case kBcast:
      if (call->rank == call->root) memcpy(call->receive, call->send, sizeof(int) * (size_t)count);
      MPI_Ibcast(call->receive, count, MPI_INT, call->root, call->comm, request);
      break;
    case kAllgather:
      memcpy(call->receive + call->rank * count, call->send, sizeof(int) * (size_t)count);
      MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, call->receive, count, MPI_INT, call->comm,
                     request);
      break;
    case kBarrier:
      MPI_Ibarrier(call->comm, request);
      break;
    default:
      MPI_Iscan(call->send, call->receive, count, MPI_INT, MPI_SUM, call->comm, request);
  }
}

static int expected(const Call* call, int from, int i) {
  int sum = 0;
  switch (call->kind) {
    case kAllreduce:
      for (int rank = 0; rank < call->size; ++rank) sum += given(call, rank, 0, i);
      return sum;
    case kScan:
      for (int rank = 0; rank <= call->rank; ++rank) sum += given(call, rank, 0, i);
      return sum;
    case kBcast:
      return given(call, call->root, 0, i);
    case kAllgather:
      return given(call, from, 0, i);
    default:
      return given(call, from, call->rank, i);
  }
}

static void check(Call* call) {
  int wrong = 0;
  const int blocks = call->kind <= kAlltoallw || call->kind == kAllgather ? call->size : 1;
  for (int from = 0; from < blocks && call->kind != kBarrier; ++from) {
    for (int i = 0; i < call->count; ++i)
      wrong += call->receive[from * call->count + i] != expected(call, from, i);
  }
  expect(wrong == 0, "round %d: %d ints of a call of kind %d with %d are wrong on rank %d",
         call->round, wrong, call->kind, call->count, call->rank);
  free(call->send);
  free(call->receive);
  free(call->counts);
  free(call->places);
  free(call->bytes);
  free(call->types);
}

/* Several calls on each communicator; ranks take turns with communicators as they like. */
static void many_at_once(MPI_Comm comms[kMany], int round, uint64_t* shared, uint64_t* own) {
  static const int counts[] = {1, 1, 2, 17, 300, 5000};
  Call calls[kMany * kMost];
  MPI_Request requests[kMany * kMost + 2];
  int begun[kMany] = {0}, planned[kMany], total = 0, rank = 0, size = 0, token = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int which = 0; which < kMany; ++which) {
    planned[which] = below(shared, kMost + 1);
    for (int number = 0; number < planned[which]; ++number) {
      Call* call = &calls[total + number];
      memset(call, 0, sizeof *call);
      call->comm = comms[which];
      MPI_Comm_rank(call->comm, &call->rank);
      MPI_Comm_size(call->comm, &call->size);
      call->round = round;
      call->kind = below(shared, kKinds);
      call->count = counts[below(shared, (int)(sizeof counts / sizeof *counts))];
      call->root = (int)(next_random(shared) >> 33) % call->size;
      fill(call);
    }
    total += planned[which];
  }
  int left = total;
  while (left > 0) {
    const int which = below(own, kMany);
    if (begun[which] == planned[which]) continue;
    int at = begun[which]++;
    for (int before = 0; before < which; ++before) at += planned[before];
    begin(&calls[at], &requests[at]);
    --left;
  }
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Irecv(&token, 1, MPI_INT, last, round, MPI_COMM_WORLD, &requests[total]);
  MPI_Isend(&rank, 1, MPI_INT, next, round, MPI_COMM_WORLD, &requests[total + 1]);
  complete_all(total + 2, requests, own);
  expect(token == last, "round %d: the token is %d", round, token);
  for (int i = 0; i < total; ++i) check(&calls[i]);
}

/* A rank that waits for a message goes on with its collectives, as the message's sender waits for
 * these. */
static void messages_between(MPI_Comm comm) {
  int rank = 0, size = 0, token = 0, sum = 0, one = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Request request;
  for (int round = 0; round < 20; ++round) {
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    if (rank % 2 == 0 && rank + 1 < size) {
      MPI_Recv(&token, 1, MPI_INT, rank + 1, 5, comm, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (rank % 2 == 1) MPI_Send(&round, 1, MPI_INT, rank - 1, 5, comm);
    }
    expect(sum == size, "an allreduce of ones is %d of %d", sum, size);
  }
}

/* A start waits for nobody, not even the first of a communicator: rank 0 starts before the others
 * know that they may. */
static void start_alone(void) {
  MPI_Comm comm;
  int rank = 0, size = 0, go = 0, sum = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Request requests[8];
  int sums[8];
  if (rank != 0) MPI_Recv(&go, 1, MPI_INT, rank - 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 8; ++i) {
    sums[i] = rank + i;
    MPI_Iallreduce(MPI_IN_PLACE, &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
  }
  if (rank + 1 < size) MPI_Send(&go, 1, MPI_INT, rank + 1, 6, MPI_COMM_WORLD);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 8; ++i) {
    sum = size * (size - 1) / 2 + size * i;
    expect(sums[i] == sum, "sum %d is %d, not %d", i, sums[i], sum);
  }
  MPI_Comm_free(&comm);
}

/* A neighbourhood collective is called while a call of the communicator is
 * under way that the others have not begun; its datatype is freed before its turn has come. */
static void freed_behind(void) {
  MPI_Comm ring;
  MPI_Datatype type, other;
  int rank = 0, size = 0, go = 0, sum = 1;
  const int periodic = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  MPI_Comm_rank(ring, &rank);
  const int send[5] = {rank, -1, rank + 100, -1, rank + 200};
  int receive[6] = {0};
  MPI_Request requests[2];
  if (rank != 0) MPI_Recv(&go, 1, MPI_INT, rank - 1, 7, ring, MPI_STATUS_IGNORE);
  MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, ring, &requests[0]);
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Ineighbor_allgather(send, 1, type, receive, 3, MPI_INT, ring, &requests[1]);
  MPI_Type_free(&type);
  expect(type == MPI_DATATYPE_NULL, "a freed datatype is not null");
  MPI_Type_contiguous(64, MPI_DOUBLE, &other); /* may get the place of the freed one */
  MPI_Type_commit(&other);
  if (rank + 1 < size) MPI_Send(&go, 1, MPI_INT, rank + 1, 7, ring);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect(sum == size, "an allreduce of ones is %d of %d", sum, size);
  for (int i = 0; i < 6; ++i) {
    const int from = (rank + (i < 3 ? size - 1 : 1)) % size;
    expect(receive[i] == from + i % 3 * 100, "neighbour %d: int %d is %d", from, i, receive[i]);
  }
  MPI_Type_free(&other);
  MPI_Comm_free(&ring);
}

/* Blocking calls, and the making of communicators, behind calls that are under way; the end of a
 * communicator, too. */
static void blocking_behind(void) {
  MPI_Comm comm, child;
  int rank = 0, size = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int *send = calloc((size_t)size, sizeof *send), *receive = calloc((size_t)size, sizeof *send);
  int sum = rank, maximum = rank, first = rank;
  MPI_Request requests[4];
  for (int i = 0; i < size; ++i) send[i] = rank * size + i;
  MPI_Ialltoall(send, 1, MPI_INT, receive, 1, MPI_INT, comm, &requests[0]);
  MPI_Ibcast(&first, 1, MPI_INT, 0, comm, &requests[1]);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Iallreduce(MPI_IN_PLACE, &maximum, 1, MPI_INT, MPI_MAX, comm, &requests[2]);
  MPI_Comm_split(comm, rank % 2, rank, &child);
  MPI_Ibarrier(child, &requests[3]);
  MPI_Comm_free(&child);
  MPI_Comm_free(&comm);
  expect(comm == MPI_COMM_NULL && child == MPI_COMM_NULL, "a freed communicator is not null");
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  expect(sum == size * (size - 1) / 2, "the sum is %d", sum);
  expect(maximum == size - 1, "the maximum is %d", maximum);
  expect(first == 0, "rank 0's is %d", first);
  for (int i = 0; i < size; ++i) expect(receive[i] == i * size + rank, "int %d is wrong", i);
  free(send);
  free(receive);
}

static int handled = 0, handled_code = MPI_SUCCESS;
static MPI_Comm handled_comm = MPI_COMM_NULL;

static void handle(MPI_Comm* comm, int* code, ...) {
  ++handled;
  handled_comm = *comm;
  handled_code = *code;
}

enum { kWaysOfOne = 2, kWays = 8 };

/* Completes a request that fails and one that does not, by one of MPI's functions: that of the
 * failing one returns `code`. Whether the failing one has a status with its error, where there are
 * several. */
static int complete_failing(int way, MPI_Request requests[2], int* code) {
  MPI_Status statuses[2];
  int index = 0, done = 0, ended = 0, indices[2];
  const int failing = 1;
  memset(statuses, 0, sizeof statuses);
  *code = MPI_SUCCESS;
  switch (way) {
    case 0:
      *code = MPI_Wait(&requests[failing], MPI_STATUS_IGNORE);
      break;
    case 1:
      while (!done) *code = MPI_Test(&requests[failing], &done, MPI_STATUS_IGNORE);
      break;
    case 2:
      *code = MPI_Waitall(2, requests, statuses);
      return statuses[failing].MPI_ERROR != MPI_SUCCESS && statuses[0].MPI_ERROR == MPI_SUCCESS;
    case 3:
      while (!done && *code == MPI_SUCCESS) *code = MPI_Testall(2, requests, &done, statuses);
      return statuses[failing].MPI_ERROR != MPI_SUCCESS && statuses[0].MPI_ERROR == MPI_SUCCESS;
    case 4:
      do {
        *code = MPI_Waitany(2, requests, &index, &statuses[0]);
      } while (index != failing && index != MPI_UNDEFINED);
      break;
    case 5:
      do {
        *code = MPI_Testany(2, requests, &index, &done, &statuses[0]);
      } while (!done || index != failing);
      break;
    default:
      while (*code == MPI_SUCCESS && ended != MPI_UNDEFINED) {
        *code = way == 6 ? MPI_Waitsome(2, requests, &ended, indices, statuses)
                         : MPI_Testsome(2, requests, &ended, indices, statuses);
      }
      for (int i = 0; i < ended; ++i) {
        if ((statuses[i].MPI_ERROR != MPI_SUCCESS) != (indices[i] == failing)) return 0;
      }
  }
  return 1;
}

/* The error comes out of the function that completes the request, and the communicator serves no
 * more calls. The error handler that is called is that of the communicator; the program may have
 * freed it. */
static void mismatch(int ways) {
  MPI_Comm comm, other, name;
  MPI_Errhandler handler;
  int rank = 0, ints[64] = {0}, more[4] = {0};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_create_errhandler(&handle, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  name = comm;
  /* Open MPI itself forgets a communicator that is freed. */
  const int rounds = ways == kWays ? kWays + 1 : ways;
  for (int round = 0; round < rounds; ++round) {
    MPI_Request requests[2];
    int class = MPI_SUCCESS, code = MPI_SUCCESS;
    handled = 0;
    MPI_Ibcast(more, 4, MPI_INT, 0, other, &requests[0]);
    code = MPI_Ibcast(ints, rank == 0 ? 8 : 40, MPI_INT, 0, comm, &requests[1]);
    expect(code == MPI_SUCCESS, "the start of a call that fails returns %d", code);
    if (round == kWays) MPI_Comm_free(&comm);
    const int told = complete_failing(round % ways, requests, &code);
    if (requests[0] != MPI_REQUEST_NULL) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    if (requests[1] != MPI_REQUEST_NULL) MPI_Request_free(&requests[1]);
    MPI_Error_class(code, &class);
    expect(code != MPI_SUCCESS && class != MPI_SUCCESS, "round %d: a mismatch is completed with %d",
           round, code);
    expect(told, "round %d: statuses do not say which one has failed", round);
    expect(handled == 1 && handled_comm == name && handled_code != MPI_SUCCESS,
           "round %d: the communicator's handler was called %d times, with %d", round, handled,
           handled_code);
  }
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Comm_free(&other);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  program_thread = pthread_self();
  const int rounds = argc > 1 ? atoi(argv[1]) : 40;
  uint64_t shared = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  uint64_t own = shared * 1000 + (uint64_t)rank;
  MPI_Comm comms[kMany];
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[3]);
  comms[4] = MPI_COMM_WORLD;
  start_alone();
  for (int round = 0; round < rounds; ++round) many_at_once(comms, round, &shared, &own);
  messages_between(comms[0]);
  freed_behind();
  blocking_behind();
  if (argc > 3) mismatch(strcmp(argv[3], "mismatch") == 0 ? kWays : kWaysOfOne);
  for (int which = 0; which < 4; ++which) MPI_Comm_free(&comms[which]);
  return finish();
}
