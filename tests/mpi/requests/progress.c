/* Calls of the host in progress go on during weft's collectives, however short these wait; and
 * weft's messages and the program's are kept apart. */
#include "tests/mpi/program/check.h"

static int rank, size;

enum { kBytes = 4 << 20, kMostRounds = 3000000 };

/* The sender calls only collectives after MPI_Isend. Its message must arrive nevertheless. */
static void a_message_behind_short_collectives(void) {
  char* data = calloc(kBytes, 1);
  int here = rank != 1, everywhere = 0, rounds = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    memset(data, 'a', kBytes);
    MPI_Isend(data, kBytes, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &request);
  }
  if (rank == 1) MPI_Irecv(data, kBytes, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &request);
  while (!everywhere && ++rounds < kMostRounds) {
    if (rank == 1 && !here) MPI_Test(&request, &here, MPI_STATUS_IGNORE);
    MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  expect(everywhere, "a message has not arrived within %d collectives", rounds);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(rank > 1 || (data[0] == 'a' && data[kBytes - 1] == 'a'), "the message is wrong");
  free(data);
}

/* The same for a nonblocking collective of the host that only some ranks test. */
static void a_nonblocking_collective_behind_short_ones(void) {
  const int count = 1 << 16;
  int here = 0, everywhere = 0, rounds = 0, wrong = 0;
  int* send = malloc(sizeof(int) * (size_t)(count * size));
  int* receive = malloc(sizeof(int) * (size_t)(count * size));
  for (int i = 0; i < count * size; ++i) send[i] = rank * 7 + i;
  MPI_Request request;
  MPI_Ialltoall(send, count, MPI_INT, receive, count, MPI_INT, MPI_COMM_WORLD, &request);
  while (!everywhere && ++rounds < kMostRounds) {
    if (rank != 0 && !here) MPI_Test(&request, &here, MPI_STATUS_IGNORE);
    const int done = rank == 0 || here;
    MPI_Allreduce(&done, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  expect(everywhere, "a nonblocking collective has not ended within %d collectives", rounds);
  if (!here) MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < count * size; ++i)
    wrong += receive[i] != i / count * 7 + rank * count + i % count;
  expect(wrong == 0, "a nonblocking collective: %d ints of %d wrong", wrong, count * size);
  free(send);
  free(receive);
}

/* Receives with MPI_ANY_SOURCE and MPI_ANY_TAG get the program's messages only. */
static void receives_from_anybody(void) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int turn = 0; turn < 50; ++turn) {
    int got = -1, number = rank * 100 + turn;
    MPI_Request request;
    MPI_Status status;
    MPI_Comm fresh;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    if (turn % 10 == 0) {
      MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
      expect_ints_arrive(fresh, 3 + turn, "a new communicator beside a receive");
      MPI_Comm_free(&fresh);
    }
    expect_ints_arrive(MPI_COMM_WORLD, 1 + turn, "an alltoall beside a receive from anybody");
    expect(got == -1, "a receive from anybody got something of weft's");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&number, 1, MPI_INT, next, turn, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    expect(got == before * 100 + turn && status.MPI_TAG == turn, "a receive got %d", got);
  }
}

/* The target of a one-sided access waits in a collective. */
static void windows(void) {
  int *memory, got = 0;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int) * (size_t)size, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  for (int turn = 0; turn < 10; ++turn) {
    for (int i = 0; i < size; ++i) memory[i] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    const int one = 1, target = (rank + 1) % size, value = rank + turn;
    if (rank != turn % size) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
      MPI_Put(&value, 1, MPI_INT, target, rank, 1, MPI_INT, win);
      MPI_Win_unlock(target, win);
      MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
      MPI_Get(&got, 1, MPI_INT, target, rank, 1, MPI_INT, win);
      MPI_Win_unlock(target, win);
      expect(got == value, "a window has %d, not %d", got, value);
    }
    int sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == size, "a sum beside windows: %d", sum);
    MPI_Win_fence(0, win);
  }
  MPI_Win_free(&win);
}

/* Neighbourhood collectives go to the host, on a communicator whose other collectives weft runs. */
static void neighbours(void) {
  int dims[1] = {size}, periods[1] = {1}, from[2] = {-1, -1};
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
  for (int turn = 0; turn < 5; ++turn) {
    expect_ints_arrive(ring, 2 + turn, "a ring");
    const int own = rank * 10 + turn;
    MPI_Neighbor_allgather(&own, 1, MPI_INT, from, 1, MPI_INT, ring);
    expect(
        from[0] == (rank + size - 1) % size * 10 + turn && from[1] == (rank + 1) % size * 10 + turn,
        "neighbours gave %d and %d", from[0], from[1]);
  }
  MPI_Comm_free(&ring);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  a_message_behind_short_collectives();
  a_nonblocking_collective_behind_short_ones();
  receives_from_anybody();
  windows();
  neighbours();
  return finish();
}
