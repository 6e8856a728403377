/* Nonblocking collectives and threads: some threads start calls, each on a communicator of its own,
 * and then wait outside of MPI until others have completed them; so whoever waits has to go on with
 * what another thread has begun.
 *
 *   nonblocking_threads [ROUNDS] */
#include <pthread.h>

#include "tests/mpi/program/check.h"

enum { kPairs = 3, kAtOnce = 4, kInts = 3000 };

/* A thread that starts and one that completes. */
typedef struct {
  MPI_Comm comm;
  int rank, size, rounds, given, taken;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  MPI_Request requests[kAtOnce];
  int sums[kAtOnce], *all[kAtOnce];
} Pair;

static void set(Pair* pair, int* what, int value) {
  pthread_mutex_lock(&pair->mutex);
  *what = value;
  pthread_cond_broadcast(&pair->changed);
  pthread_mutex_unlock(&pair->mutex);
}

static void wait_for(Pair* pair, const int* what, int value) {
  pthread_mutex_lock(&pair->mutex);
  while (*what < value) pthread_cond_wait(&pair->changed, &pair->mutex);
  pthread_mutex_unlock(&pair->mutex);
}

static void* start_calls(void* argument) {
  Pair* pair = argument;
  for (int round = 1; round <= pair->rounds; ++round) {
    for (int i = 0; i < kAtOnce; ++i) {
      pair->sums[i] = pair->rank + round + i;
      if (i % 2 == 0) {
        MPI_Iallreduce(MPI_IN_PLACE, &pair->sums[i], 1, MPI_INT, MPI_SUM, pair->comm,
                       &pair->requests[i]);
      } else {
        int* mine = pair->all[i] + (size_t)pair->rank * kInts;
        for (int at = 0; at < kInts; ++at) mine[at] = pair->rank * 7 + round + at;
        MPI_Iallgather(MPI_IN_PLACE, 0, MPI_INT, pair->all[i], kInts, MPI_INT, pair->comm,
                       &pair->requests[i]);
      }
    }
    set(pair, &pair->given, round);
    wait_for(pair, &pair->taken, round);
  }
  return NULL;
}

static void* complete_calls(void* argument) {
  Pair* pair = argument;
  for (int round = 1; round <= pair->rounds; ++round) {
    wait_for(pair, &pair->given, round);
    MPI_Waitall(kAtOnce, pair->requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kAtOnce; i += 2) {
      const int right = pair->size * (round + i) + pair->size * (pair->size - 1) / 2;
      expect(pair->sums[i] == right, "round %d: a sum is %d, not %d", round, pair->sums[i], right);
    }
    int wrong = 0;
    for (int i = 1; i < kAtOnce; i += 2) {
      for (int at = 0; at < pair->size * kInts; ++at)
        wrong += pair->all[i][at] != at / kInts * 7 + round + at % kInts;
    }
    expect(wrong == 0, "round %d: %d ints are wrong", round, wrong);
    set(pair, &pair->taken, round);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level < MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 77;
  }
  Pair pairs[kPairs];
  pthread_t threads[2 * kPairs];
  for (int i = 0; i < kPairs; ++i) {
    Pair* pair = &pairs[i];
    memset(pair, 0, sizeof *pair);
    MPI_Comm_dup(MPI_COMM_WORLD, &pair->comm);
    MPI_Comm_rank(pair->comm, &pair->rank);
    MPI_Comm_size(pair->comm, &pair->size);
    pair->rounds = argc > 1 ? atoi(argv[1]) : 50;
    pthread_mutex_init(&pair->mutex, NULL);
    pthread_cond_init(&pair->changed, NULL);
    for (int k = 0; k < kAtOnce; ++k)
      pair->all[k] = malloc(sizeof(int) * kInts * (size_t)pair->size);
  }
  for (int i = 0; i < kPairs; ++i) {
    pthread_create(&threads[2 * i], NULL, start_calls, &pairs[i]);
    pthread_create(&threads[2 * i + 1], NULL, complete_calls, &pairs[i]);
  }
  for (int i = 0; i < 2 * kPairs; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kPairs; ++i) {
    for (int k = 0; k < kAtOnce; ++k) free(pairs[i].all[k]);
    MPI_Comm_free(&pairs[i].comm);
  }
  return finish();
}
