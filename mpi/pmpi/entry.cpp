// The functions that programs find here before they find the host's.
//
// Each is defined under both of its names. C programs call MPI_X; the Fortran libraries of Open MPI
// call PMPI_X and those of MPICH MPI_X, whatever of mpif.h, `use mpi` and `use mpi_f08` the program
// uses, with handles and MPI_IN_PLACE already translated. So there are no Fortran wrappers here.
#include <mpi.h>

#include "mpi/pmpi/alltoall.hpp"
#include "mpi/pmpi/host.hpp"
#include "mpi/pmpi/world.hpp"

#define WEFT_ENTRY extern "C" __attribute__((visibility("default")))
#define WEFT_ALIAS(name) __attribute__((alias(name), visibility("default")))

using weft::pmpi::host_function;
using weft::pmpi::World;

WEFT_ENTRY int PMPI_Init(int* argc, char*** argv) {
  weft::pmpi::require_host();
  static const auto host = host_function<decltype(PMPI_Init)>("PMPI_Init");
  const int error = host(argc, argv);
  if (error == MPI_SUCCESS) World::start();
  return error;
}

WEFT_ENTRY int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  weft::pmpi::require_host();
  static const auto host = host_function<decltype(PMPI_Init_thread)>("PMPI_Init_thread");
  const int error = host(argc, argv, required, provided);
  if (error == MPI_SUCCESS) World::start();
  return error;
}

WEFT_ENTRY int PMPI_Finalize() {
  static const auto host = host_function<decltype(PMPI_Finalize)>("PMPI_Finalize");
  World::finish();
  return host();
}

WEFT_ENTRY int PMPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                             void* recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  static const auto host = host_function<decltype(PMPI_Alltoall)>("PMPI_Alltoall");
  const auto done =
      weft::pmpi::run({sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm});
  if (done) return *done;
  return host(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

extern "C" {
int MPI_Init(int* argc, char*** argv) WEFT_ALIAS("PMPI_Init");
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided)
    WEFT_ALIAS("PMPI_Init_thread");
int MPI_Finalize() WEFT_ALIAS("PMPI_Finalize");
int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, MPI_Comm comm) WEFT_ALIAS("PMPI_Alltoall");
}

#if MPI_VERSION >= 4
WEFT_ENTRY int PMPI_Alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                               MPI_Comm comm) {
  static const auto host = host_function<decltype(PMPI_Alltoall_c)>("PMPI_Alltoall_c");
  const auto done =
      weft::pmpi::run({sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm});
  if (done) return *done;
  return host(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}
extern "C" int MPI_Alltoall_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                              MPI_Comm comm) WEFT_ALIAS("PMPI_Alltoall_c");
#endif
