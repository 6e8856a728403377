/* Helpers of the C tests: counted failures, random numbers, and an alltoall to compare with. */
#ifndef WEFT_TESTS_MPI_CHECK_H
#define WEFT_TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

/* Counts a failure and prints it, at most a few times on each rank. */
static inline void expect(int good, const char* format, ...) {
  if (good) return;
  if (++failures > 5) return;
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "FAILED: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
}

/* Ends MPI. Returns the exit code, the same on all ranks. */
static inline int finish(void) {
  int worst = 0;
  MPI_Allreduce(&failures, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst == 0 ? 0 : 1;
}

static inline uint64_t next_random(uint64_t* state) {
  uint64_t bits = *state += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

static inline int below(uint64_t* state, int limit) {
  return (int)(next_random(state) % (uint64_t)limit);
}

/* MPI_Alltoall by sends and receives of the host, which the add-on leaves alone. Not in place. */
static inline void reference_alltoall(const void* send, int send_count, MPI_Datatype send_type,
                                      void* receive, int receive_count, MPI_Datatype receive_type,
                                      MPI_Comm comm) {
  int size = 0;
  MPI_Aint low = 0, send_extent = 0, receive_extent = 0;
  MPI_Comm_size(comm, &size);
  MPI_Type_get_extent(send_type, &low, &send_extent);
  MPI_Type_get_extent(receive_type, &low, &receive_extent);
  MPI_Request* requests = (MPI_Request*)malloc(2 * (size_t)size * sizeof *requests);
  for (int i = 0; i < size; ++i) {
    MPI_Irecv((char*)receive + (MPI_Aint)i * receive_count * receive_extent, receive_count,
              receive_type, i, 77, comm, &requests[i]);
  }
  for (int i = 0; i < size; ++i) {
    MPI_Isend((const char*)send + (MPI_Aint)i * send_count * send_extent, send_count, send_type, i,
              77, comm, &requests[size + i]);
  }
  MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

/* An alltoall of ints on `comm`, checked. */
static inline void expect_ints_arrive(MPI_Comm comm, int count, const char* what) {
  int size = 0, rank = 0, wrong = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  int* send = (int*)malloc(sizeof(int) * (size_t)(size * count + 1));
  int* receive = (int*)malloc(sizeof(int) * (size_t)(size * count + 1));
  for (int i = 0; i < size * count; ++i) {
    send[i] = rank * 1000003 + i;
    receive[i] = -1;
  }
  const int code = MPI_Alltoall(send, count, MPI_INT, receive, count, MPI_INT, comm);
  for (int i = 0; i < size * count; ++i)
    wrong += receive[i] != (i / count) * 1000003 + rank * count + i % count;
  expect(code == MPI_SUCCESS, "%s: code %d", what, code);
  expect(wrong == 0, "%s: %d of %d ints are wrong on rank %d", what, wrong, size * count, rank);
  free(send);
  free(receive);
}

#endif
