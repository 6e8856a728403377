/* MPI_THREAD_MULTIPLE: threads that each have a communicator of their own, whose first calls come
 * in any order on any rank. */
#include <pthread.h>

#include "tests/mpi/program/check.h"

enum { kThreads = 4, kSkipped = 77 };

typedef struct {
  MPI_Comm comm;
  int rounds, index;
} Job;

static void* work(void* argument) {
  const Job* job = argument;
  uint64_t random = (uint64_t)job->index;
  for (int round = 0; round < job->rounds; ++round) {
    const int count = 1 + below(&random, 300);
    expect_ints_arrive(job->comm, count, "a thread's own communicator");
    if (round % 10 == 0) {
      MPI_Comm fresh;
      MPI_Comm_dup(job->comm, &fresh);
      expect_ints_arrive(fresh, count, "a duplicate made in a thread");
      MPI_Comm_free(&fresh);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "this MPI gives no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return kSkipped;
  }
  Job jobs[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    jobs[i].rounds = argc > 1 ? atoi(argv[1]) : 20;
    jobs[i].index = i;
    MPI_Comm_dup(MPI_COMM_WORLD, &jobs[i].comm);
  }
  /* Threads start in another order on odd ranks. */
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kThreads; ++i) {
    const int at = rank % 2 == 0 ? i : kThreads - 1 - i;
    pthread_create(&threads[at], NULL, work, &jobs[at]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&jobs[i].comm);
  return finish();
}
