/* The blocking collectives of a test as nonblocking ones (AS_REQUEST is 1) or as persistent ones
 * (2), each completed at once. HOST(MPI_Bcast) stays the host's blocking function. With AS_LARGE it
 * has AS() alone, of the forms with large counts, for as_large.h. */
#ifndef WEFT_TESTS_MPI_AS_REQUEST_H
#define WEFT_TESTS_MPI_AS_REQUEST_H

#define _GNU_SOURCE /* host.h, which comes later, needs it */
#include "tests/mpi/program/complete.h"

#if AS_REQUEST == 2 && defined(AS_LARGE) && !defined(OPEN_MPI)
#define INIT(name) MPI_##name##_init_c
#elif AS_REQUEST == 2
#include "tests/mpi/program/persistent.h"
#elif defined(AS_LARGE)
#define START(lower) MPI_I##lower##_c
#else
#define START(lower) MPI_I##lower
#endif

static MPI_Request as_request = MPI_REQUEST_NULL;
static uint64_t as_random = 1;

static inline int complete_as_request(int code) {
  expect(code == MPI_SUCCESS, "a start returns %d", code);
  complete_all(1, &as_request, &as_random);
#if AS_REQUEST == 2
  expect(as_request != MPI_REQUEST_NULL, "a persistent request is null when it is complete");
  MPI_Request_free(&as_request);
#endif
  expect(as_request == MPI_REQUEST_NULL, "a request that is over is not null");
  return code;
}

#if AS_REQUEST == 2
static inline int start_as_request(int code) {
  if (code == MPI_SUCCESS) code = MPI_Start(&as_request);
  return complete_as_request(code);
}
#define AS(name, lower, ...) start_as_request(INIT(name)(__VA_ARGS__, MPI_INFO_NULL, &as_request))
#else
#define AS(name, lower, ...) complete_as_request(START(lower)(__VA_ARGS__, &as_request))
#endif

#ifndef AS_LARGE
#define MPI_Barrier(...) AS(Barrier, barrier, __VA_ARGS__)
#define MPI_Bcast(...) AS(Bcast, bcast, __VA_ARGS__)
#define MPI_Scatter(...) AS(Scatter, scatter, __VA_ARGS__)
#define MPI_Scatterv(...) AS(Scatterv, scatterv, __VA_ARGS__)
#define MPI_Gather(...) AS(Gather, gather, __VA_ARGS__)
#define MPI_Gatherv(...) AS(Gatherv, gatherv, __VA_ARGS__)
#define MPI_Allgather(...) AS(Allgather, allgather, __VA_ARGS__)
#define MPI_Allgatherv(...) AS(Allgatherv, allgatherv, __VA_ARGS__)
#define MPI_Alltoall(...) AS(Alltoall, alltoall, __VA_ARGS__)
#define MPI_Alltoallv(...) AS(Alltoallv, alltoallv, __VA_ARGS__)
#define MPI_Alltoallw(...) AS(Alltoallw, alltoallw, __VA_ARGS__)
#define MPI_Reduce(...) AS(Reduce, reduce, __VA_ARGS__)
#define MPI_Allreduce(...) AS(Allreduce, allreduce, __VA_ARGS__)
#define MPI_Scan(...) AS(Scan, scan, __VA_ARGS__)
#define MPI_Exscan(...) AS(Exscan, exscan, __VA_ARGS__)
#define MPI_Reduce_scatter_block(...) AS(Reduce_scatter_block, reduce_scatter_block, __VA_ARGS__)
#define MPI_Reduce_scatter(...) AS(Reduce_scatter, reduce_scatter, __VA_ARGS__)
#define MPI_Neighbor_allgather(...) AS(Neighbor_allgather, neighbor_allgather, __VA_ARGS__)
#define MPI_Neighbor_allgatherv(...) AS(Neighbor_allgatherv, neighbor_allgatherv, __VA_ARGS__)
#define MPI_Neighbor_alltoall(...) AS(Neighbor_alltoall, neighbor_alltoall, __VA_ARGS__)
#define MPI_Neighbor_alltoallv(...) AS(Neighbor_alltoallv, neighbor_alltoallv, __VA_ARGS__)
#define MPI_Neighbor_alltoallw(...) AS(Neighbor_alltoallw, neighbor_alltoallw, __VA_ARGS__)
#endif

#endif
