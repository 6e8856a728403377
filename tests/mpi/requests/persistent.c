/* Persistent collectives: made on several communicators, started in rounds, each rank with the
 * communicators in another order, one by one or together with persistent messages, completed by any
 * of MPI's functions, in arrays with requests of the host that are active, inactive or null; freed
 * while others of the communicator live on. Datatypes and operations are freed before the first
 * start.
 *
 *   persistent [ROUNDS [SEED [keep]]]
 *
 * "keep" does not free these: Open MPI 4 does not hold them. */
#include "tests/mpi/program/persistent.h"
#include "tests/mpi/program/complete.h"

enum { kComms = 4, kEach = 5, kAll = kComms * kEach, kInts = 700 };

typedef struct {
  MPI_Comm comm;
  int kind, rank, size, root;
  int *send, *receive, *counts, *places;
} Call;

static int keeps;

static int given(const Call* call, int round, int from, int to, int i) {
  return round * 7919 + call->kind * 104729 + from * 1013 + to * 31 + i;
}

static void largest(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) {
    if (((int*)in)[i] > ((int*)inout)[i]) ((int*)inout)[i] = ((int*)in)[i];
  }
}

static void make(Call* call, MPI_Request* request) {
  MPI_Datatype type;
  MPI_Op op;
  const int part = kInts / 10;
  switch (call->kind) {
    case 0:
      MPI_Type_vector(part, 1, 1, MPI_INT, &type);
      MPI_Type_commit(&type);
      INIT(Alltoall)
      (call->send, 1, type, call->receive, part, MPI_INT, call->comm, MPI_INFO_NULL, request);
      if (!keeps) MPI_Type_free(&type);
      return;
    case 1:
      MPI_Op_create(&largest, 1, &op);
      INIT(Allreduce)
      (call->send, call->receive, kInts, MPI_INT, op, call->comm, MPI_INFO_NULL, request);
      if (!keeps) MPI_Op_free(&op);
      return;
    case 2:
      INIT(Bcast)(call->receive, kInts, MPI_INT, call->root, call->comm, MPI_INFO_NULL, request);
      return;
    case 3:
      INIT(Barrier)(call->comm, MPI_INFO_NULL, request);
      return;
    default: {
      int* counts = malloc(sizeof(int) * (size_t)call->size);
      int* places = malloc(sizeof(int) * (size_t)call->size);
      for (int i = 0; i < call->size; ++i) {
        counts[i] = part;
        places[i] = part * (call->size - 1 - i);
      }
      INIT(Allgatherv)
      (call->send, part, MPI_INT, call->receive, counts, places, MPI_INT, call->comm, MPI_INFO_NULL,
       request);
      call->counts = counts;
      call->places = places;
    }
  }
}

static void fill(Call* call, int round) {
  for (int i = 0; i < kInts; ++i) {
    call->send[i] = given(call, round, call->rank, 0, i);
    call->receive[i] = call->kind == 2 && call->rank == call->root ? call->send[i] : -1;
  }
}

static void check(const Call* call, int round) {
  const int part = kInts / 10;
  int wrong = 0;
  for (int from = 0; from < call->size; ++from) {
    for (int i = 0; i < part; ++i) {
      const int mine = part * call->rank + i;
      if (call->kind == 0)
        wrong += call->receive[part * from + i] != given(call, round, from, 0, mine);
      if (call->kind == 4)
        wrong +=
            call->receive[part * (call->size - 1 - from) + i] != given(call, round, from, 0, i);
    }
  }
  for (int i = 0; i < kInts; ++i) {
    if (call->kind == 1) wrong += call->receive[i] != given(call, round, call->size - 1, 0, i);
    if (call->kind == 2) wrong += call->receive[i] != given(call, round, call->root, 0, i);
  }
  expect(wrong == 0, "round %d: %d ints of kind %d are wrong on rank %d of %d", round, wrong,
         call->kind, call->rank, call->size);
}

static void expect_inactive(MPI_Request* request) {
  int done = 0;
  MPI_Status status;
  const MPI_Request before = *request;
  MPI_Test(request, &done, &status);
  expect(done && *request == before, "an inactive request is not complete, or changes");
  done = 0;
  MPI_Request_get_status(*request, &done, &status);
  expect(done, "an inactive request has no status");
  MPI_Wait(request, &status);
  expect(*request == before, "an inactive request changes when it is waited for");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 30;
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int rank = 0, size = 0, token = -1;
  keeps = argc > 3;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  uint64_t own = seed * 1000 + (uint64_t)rank;
  MPI_Comm comms[kComms];
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
  comms[3] = MPI_COMM_WORLD;
  Call calls[kAll];
  MPI_Request requests[kAll + 3];
  for (int at = 0; at < kAll; ++at) {
    Call* call = &calls[at];
    memset(call, 0, sizeof *call);
    call->comm = comms[at / kEach];
    call->kind = at % kEach;
    MPI_Comm_rank(call->comm, &call->rank);
    MPI_Comm_size(call->comm, &call->size);
    call->root = at % call->size;
    call->send = calloc((size_t)call->size * kInts, sizeof(int));
    call->receive = calloc((size_t)call->size * kInts, sizeof(int));
    make(call, &requests[at]);
  }
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Recv_init(&token, 1, MPI_INT, last, 3, MPI_COMM_WORLD, &requests[kAll]);
  MPI_Send_init(&rank, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[kAll + 1]);
  requests[kAll + 2] = MPI_REQUEST_NULL;
  for (int round = 0; round < rounds; ++round) {
    MPI_Request before[kAll + 3];
    memcpy(before, requests, sizeof requests);
    for (int at = 0; at < kAll; ++at) fill(&calls[at], round);
    token = -1;
    if (round % 2 == 0) {
      MPI_Startall(kAll + 2, requests);
    } else {
      int begun[kComms] = {0};
      for (int left = kAll; left > 0;) {
        const int which = below(&own, kComms);
        if (begun[which] == kEach) continue;
        MPI_Start(&requests[which * kEach + begun[which]++]);
        --left;
      }
      MPI_Startall(2, &requests[kAll]);
    }
    complete_all(kAll + 3, requests, &own);
    expect(memcmp(before, requests, sizeof before) == 0, "persistent requests have changed");
    expect(token == last, "round %d: the token is %d", round, token);
    for (int at = 0; at < kAll; ++at) check(&calls[at], round);
    expect_inactive(&requests[below(&own, kAll)]);
  }
  for (int at = 0; at < kAll + 2; ++at) {
    MPI_Request_free(&requests[at]);
    expect(requests[at] == MPI_REQUEST_NULL, "a freed request is not null");
  }
  for (int at = 0; at < kAll; ++at) {
    free(calls[at].send);
    free(calls[at].receive);
    free(calls[at].counts);
    free(calls[at].places);
  }
  for (int which = 0; which < 3; ++which) MPI_Comm_free(&comms[which]);
  return finish();
}
