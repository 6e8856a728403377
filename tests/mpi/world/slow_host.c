/* Behind the add-on: a host whose collectives take a tenth of a millisecond more. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <time.h>

#define SLOW(name, parameters, arguments)                        \
  int PMPI_##name parameters {                                   \
    static int(*next) parameters;                                \
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, "PMPI_" #name); \
    wait_longer();                                               \
    return next arguments;                                       \
  }

static void wait_longer(void) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 100000);
}

SLOW(Alltoall,
     (const void* in, int m, MPI_Datatype a, void* out, int n, MPI_Datatype b, MPI_Comm comm),
     (in, m, a, out, n, b, comm))
SLOW(Neighbor_alltoall,
     (const void* in, int m, MPI_Datatype a, void* out, int n, MPI_Datatype b, MPI_Comm comm),
     (in, m, a, out, n, b, comm))
SLOW(Allgather,
     (const void* in, int m, MPI_Datatype a, void* out, int n, MPI_Datatype b, MPI_Comm comm),
     (in, m, a, out, n, b, comm))
SLOW(Allreduce, (const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, n, type, op, comm))
SLOW(Bcast, (void* data, int n, MPI_Datatype type, int root, MPI_Comm comm),
     (data, n, type, root, comm))
SLOW(Barrier, (MPI_Comm comm), (comm))
