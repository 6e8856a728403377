/* Completion of requests by any of MPI's functions, for the tests of calls that are not blocking.
 */
#ifndef WEFT_TESTS_MPI_COMPLETE_H
#define WEFT_TESTS_MPI_COMPLETE_H

#include "tests/mpi/program/check.h"

/* Completes all of them, by functions and in an order that `random` says. Requests that are
 * persistent stay, the others become null. */
static inline void complete_all(int count, MPI_Request requests[], uint64_t* random) {
  /* Places of those that are not complete. */
  int* left = (int*)malloc(sizeof(int) * (size_t)(count + 1));
  MPI_Request* some = (MPI_Request*)malloc(sizeof(MPI_Request) * (size_t)(count + 1));
  int* indices = (int*)malloc(sizeof(int) * (size_t)(count + 1));
  int lefts = count;
  for (int i = 0; i < count; ++i) left[i] = i;
  while (lefts > 0) {
    /* A part of those that are left, in any order. */
    const int part = 1 + below(random, lefts);
    for (int i = 0; i < part; ++i) {
      const int other = i + below(random, lefts - i), place = left[i];
      left[i] = left[other];
      left[other] = place;
      some[i] = requests[left[i]];
    }
    int ended = 0, done = 0, index = MPI_UNDEFINED;
    memset(indices, 0, sizeof(int) * (size_t)part);
    char* over = (char*)calloc((size_t)part, 1);
    MPI_Status status;
    switch (below(random, 8)) {
      case 0:
        MPI_Wait(&some[0], &status);
        over[0] = 1;
        break;
      case 1:
        MPI_Waitall(part, some, MPI_STATUSES_IGNORE);
        memset(over, 1, (size_t)part);
        break;
      case 2:
        MPI_Waitany(part, some, &index, &status);
        if (index != MPI_UNDEFINED) over[index] = 1;
        break;
      case 3:
        MPI_Waitsome(part, some, &ended, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; i < ended && ended != MPI_UNDEFINED; ++i) over[indices[i]] = 1;
        break;
      case 4:
        MPI_Request_get_status(some[0], &done, MPI_STATUS_IGNORE);
        if (done) {
          done = 0;
          MPI_Test(&some[0], &done, &status);
          expect(done, "a request that was complete is not");
        }
        over[0] = (char)done;
        break;
      case 5:
        MPI_Testall(part, some, &done, MPI_STATUSES_IGNORE);
        if (done) memset(over, 1, (size_t)part);
        break;
      case 6:
        MPI_Testany(part, some, &index, &done, &status);
        if (done && index != MPI_UNDEFINED) over[index] = 1;
        break;
      default:
        MPI_Testsome(part, some, &ended, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; i < ended && ended != MPI_UNDEFINED; ++i) over[indices[i]] = 1;
    }
    int kept = 0;
    for (int i = 0; i < part; ++i) requests[left[i]] = some[i];
    for (int i = 0; i < lefts; ++i) {
      if (i >= part || !over[i]) left[kept++] = left[i];
    }
    lefts = kept;
    free(over);
  }
  free(left);
  free(some);
  free(indices);
}

#endif
