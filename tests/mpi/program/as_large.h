/* The collectives of a test by their forms with large counts, MPI_Bcast_c and so on, of MPI 4; with
 * AS_REQUEST by those that are not blocking, as as_request.h has them. What is given is the same,
 * arrays are copied to wider ones. */
#ifndef WEFT_TESTS_MPI_AS_LARGE_H
#define WEFT_TESTS_MPI_AS_LARGE_H

#define _GNU_SOURCE /* host.h, which comes later, needs it */
#include "tests/mpi/program/check.h"

#ifdef AS_REQUEST
#define AS_LARGE
#include "tests/mpi/program/as_request.h"
#define LARGE(name, lower, ...) AS(name, lower, __VA_ARGS__)
#else
#define LARGE(name, lower, ...) MPI_##name##_c(__VA_ARGS__)
#endif

/* As many as a call has ranks or neighbours. */
enum { kMostWide = 128 };

typedef struct {
  MPI_Count counts[2][kMostWide];
  MPI_Aint places[2][kMostWide];
} Wide;

static inline MPI_Count* wide_counts(Wide* wide, int side, const int* counts, int length) {
  for (int i = 0; i < length && counts != NULL; ++i) wide->counts[side][i] = counts[i];
  return counts == NULL ? NULL : wide->counts[side];
}
static inline MPI_Aint* wide_places(Wide* wide, int side, const int* places, int length) {
  for (int i = 0; i < length && places != NULL; ++i) wide->places[side][i] = places[i];
  return places == NULL ? NULL : wide->places[side];
}

static inline int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}
/* 1: the call is at its root, whose arrays it reads. */
static inline int is_root(int root, MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank == root;
}
static inline void degrees_of(MPI_Comm comm, int* in, int* out) {
  int kind = MPI_UNDEFINED, rank = 0, weighted = 0;
  MPI_Topo_test(comm, &kind);
  MPI_Comm_rank(comm, &rank);
  if (kind == MPI_DIST_GRAPH) {
    MPI_Dist_graph_neighbors_count(comm, in, out, &weighted);
  } else if (kind == MPI_GRAPH) {
    MPI_Graph_neighbors_count(comm, rank, in);
    *out = *in;
  } else {
    MPI_Cartdim_get(comm, in);
    *out = *in *= 2;
  }
}

static inline int alltoallv_large(const void* send, const int* sends, const int* from,
                                  MPI_Datatype send_type, void* receive, const int* receives,
                                  const int* to, MPI_Datatype type, MPI_Comm comm) {
  Wide wide;
  const int n = size_of(comm), sent = send == MPI_IN_PLACE ? 0 : n;
  return LARGE(Alltoallv, alltoallv, send, wide_counts(&wide, 0, sends, sent),
               wide_places(&wide, 0, from, sent), send_type, receive,
               wide_counts(&wide, 1, receives, n), wide_places(&wide, 1, to, n), type, comm);
}
static inline int alltoallw_large(const void* send, const int* sends, const int* from,
                                  const MPI_Datatype* send_types, void* receive,
                                  const int* receives, const int* to, const MPI_Datatype* types,
                                  MPI_Comm comm) {
  Wide wide;
  const int n = size_of(comm), sent = send == MPI_IN_PLACE ? 0 : n;
  return LARGE(Alltoallw, alltoallw, send, wide_counts(&wide, 0, sends, sent),
               wide_places(&wide, 0, from, sent), send_types, receive,
               wide_counts(&wide, 1, receives, n), wide_places(&wide, 1, to, n), types, comm);
}
static inline int scatterv_large(const void* send, const int* sends, const int* from,
                                 MPI_Datatype send_type, void* receive, int count,
                                 MPI_Datatype type, int root, MPI_Comm comm) {
  Wide wide;
  const int n = is_root(root, comm) ? size_of(comm) : 0;
  return LARGE(Scatterv, scatterv, send, wide_counts(&wide, 0, sends, n),
               wide_places(&wide, 0, from, n), send_type, receive, count, type, root, comm);
}
static inline int gatherv_large(const void* send, int count, MPI_Datatype send_type, void* receive,
                                const int* receives, const int* to, MPI_Datatype type, int root,
                                MPI_Comm comm) {
  Wide wide;
  const int n = is_root(root, comm) ? size_of(comm) : 0;
  return LARGE(Gatherv, gatherv, send, count, send_type, receive,
               wide_counts(&wide, 1, receives, n), wide_places(&wide, 1, to, n), type, root, comm);
}
static inline int allgatherv_large(const void* send, int count, MPI_Datatype send_type,
                                   void* receive, const int* receives, const int* to,
                                   MPI_Datatype type, MPI_Comm comm) {
  Wide wide;
  const int n = size_of(comm);
  return LARGE(Allgatherv, allgatherv, send, count, send_type, receive,
               wide_counts(&wide, 1, receives, n), wide_places(&wide, 1, to, n), type, comm);
}
static inline int reduce_scatter_large(const void* send, void* receive, const int* receives,
                                       MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Wide wide;
  return LARGE(Reduce_scatter, reduce_scatter, send, receive,
               wide_counts(&wide, 1, receives, size_of(comm)), type, op, comm);
}
static inline int neighbor_allgatherv_large(const void* send, int count, MPI_Datatype send_type,
                                            void* receive, const int* receives, const int* to,
                                            MPI_Datatype type, MPI_Comm comm) {
  Wide wide;
  int in = 0, out = 0;
  degrees_of(comm, &in, &out);
  return LARGE(Neighbor_allgatherv, neighbor_allgatherv, send, count, send_type, receive,
               wide_counts(&wide, 1, receives, in), wide_places(&wide, 1, to, in), type, comm);
}
static inline int neighbor_alltoallv_large(const void* send, const int* sends, const int* from,
                                           MPI_Datatype send_type, void* receive,
                                           const int* receives, const int* to, MPI_Datatype type,
                                           MPI_Comm comm) {
  Wide wide;
  int in = 0, out = 0;
  degrees_of(comm, &in, &out);
  return LARGE(Neighbor_alltoallv, neighbor_alltoallv, send, wide_counts(&wide, 0, sends, out),
               wide_places(&wide, 0, from, out), send_type, receive,
               wide_counts(&wide, 1, receives, in), wide_places(&wide, 1, to, in), type, comm);
}
static inline int neighbor_alltoallw_large(const void* send, const int* sends, const MPI_Aint* from,
                                           const MPI_Datatype* send_types, void* receive,
                                           const int* receives, const MPI_Aint* to,
                                           const MPI_Datatype* types, MPI_Comm comm) {
  Wide wide;
  int in = 0, out = 0;
  degrees_of(comm, &in, &out);
  return LARGE(Neighbor_alltoallw, neighbor_alltoallw, send, wide_counts(&wide, 0, sends, out),
               from, send_types, receive, wide_counts(&wide, 1, receives, in), to, types, comm);
}

#define MPI_Bcast(...) LARGE(Bcast, bcast, __VA_ARGS__)
#define MPI_Scatter(...) LARGE(Scatter, scatter, __VA_ARGS__)
#define MPI_Scatterv(...) scatterv_large(__VA_ARGS__)
#define MPI_Gather(...) LARGE(Gather, gather, __VA_ARGS__)
#define MPI_Gatherv(...) gatherv_large(__VA_ARGS__)
#define MPI_Allgather(...) LARGE(Allgather, allgather, __VA_ARGS__)
#define MPI_Allgatherv(...) allgatherv_large(__VA_ARGS__)
#define MPI_Alltoall(...) LARGE(Alltoall, alltoall, __VA_ARGS__)
#define MPI_Alltoallv(...) alltoallv_large(__VA_ARGS__)
#define MPI_Alltoallw(...) alltoallw_large(__VA_ARGS__)
#define MPI_Reduce(...) LARGE(Reduce, reduce, __VA_ARGS__)
#define MPI_Allreduce(...) LARGE(Allreduce, allreduce, __VA_ARGS__)
#define MPI_Scan(...) LARGE(Scan, scan, __VA_ARGS__)
#define MPI_Exscan(...) LARGE(Exscan, exscan, __VA_ARGS__)
#define MPI_Reduce_scatter_block(...) LARGE(Reduce_scatter_block, reduce_scatter_block, __VA_ARGS__)
#define MPI_Reduce_scatter(...) reduce_scatter_large(__VA_ARGS__)
#define MPI_Neighbor_allgather(...) LARGE(Neighbor_allgather, neighbor_allgather, __VA_ARGS__)
#define MPI_Neighbor_allgatherv(...) neighbor_allgatherv_large(__VA_ARGS__)
#define MPI_Neighbor_alltoall(...) LARGE(Neighbor_alltoall, neighbor_alltoall, __VA_ARGS__)
#define MPI_Neighbor_alltoallv(...) neighbor_alltoallv_large(__VA_ARGS__)
#define MPI_Neighbor_alltoallw(...) neighbor_alltoallw_large(__VA_ARGS__)

#endif
