// Entry points of the add-on: MPI functions that the dynamic linker finds before the host's.
//
// Each is defined under both of its names. C programs call MPI_X; the Fortran libraries of Open MPI
// call PMPI_X and those of MPICH MPI_X, for mpif.h, `use mpi` and `use mpi_f08` alike, with handles
// and MPI_IN_PLACE already translated. So there are no Fortran wrappers here.
#include <mpi.h>

#include "mpi/calls/alltoall.hpp"
#include "mpi/calls/data_movement.hpp"
#include "mpi/calls/reductions.hpp"
#include "mpi/pmpi/next_host.hpp"
#include "mpi/world/world.hpp"

#define WEFT_ENTRY extern "C" __attribute__((visibility("default")))
#define WEFT_ALIAS(name) __attribute__((alias(name), visibility("default")))

// Defines one collective under both of its names. `call` makes a Call from the arguments.
#define WEFT_DEFINE(name, parameters, arguments, call)                            \
  WEFT_ENTRY int PMPI_##name parameters {                                         \
    static const auto host = host_function<decltype(PMPI_##name)>("PMPI_" #name); \
    auto weft_call = call;                                                        \
    const auto done = weft::mpi::try_run(weft_call);                              \
    return done ? *done : host arguments;                                         \
  }                                                                               \
  extern "C" int MPI_##name parameters WEFT_ALIAS("PMPI_" #name);

using weft::mpi::Blocks;
using weft::mpi::host_function;
using weft::mpi::TypedBlocks;
using weft::mpi::World;
using weft::plan::Collective;

WEFT_ENTRY int PMPI_Init(int* argc, char*** argv) {
  weft::mpi::require_host();
  static const auto host = host_function<decltype(PMPI_Init)>("PMPI_Init");
  const int error = host(argc, argv);
  if (error == MPI_SUCCESS) World::start();
  return error;
}

WEFT_ENTRY int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  weft::mpi::require_host();
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

WEFT_ENTRY int PMPI_Comm_free(MPI_Comm* comm) {
  static const auto host = host_function<decltype(PMPI_Comm_free)>("PMPI_Comm_free");
  const weft::mpi::Freeing freeing(comm);
  return host(comm);
}

WEFT_ENTRY int PMPI_Comm_disconnect(MPI_Comm* comm) {
  static const auto host = host_function<decltype(PMPI_Comm_disconnect)>("PMPI_Comm_disconnect");
  const weft::mpi::Freeing freeing(comm);
  return host(comm);
}

extern "C" {
int MPI_Init(int* argc, char*** argv) WEFT_ALIAS("PMPI_Init");
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided)
    WEFT_ALIAS("PMPI_Init_thread");
int MPI_Finalize() WEFT_ALIAS("PMPI_Finalize");
int MPI_Comm_free(MPI_Comm* comm) WEFT_ALIAS("PMPI_Comm_free");
int MPI_Comm_disconnect(MPI_Comm* comm) WEFT_ALIAS("PMPI_Comm_disconnect");
}

WEFT_DEFINE(Barrier, (MPI_Comm comm), (comm), weft::mpi::Barrier(comm))

#define WEFT_COLLECTIVE WEFT_DEFINE
#define WEFT_COUNT int
#define WEFT_DISPLACEMENT int
#include "mpi/pmpi/collectives.inc"
#undef WEFT_COLLECTIVE
#undef WEFT_COUNT
#undef WEFT_DISPLACEMENT

#if MPI_VERSION >= 4
#define WEFT_COLLECTIVE(name, parameters, arguments, call) \
  WEFT_DEFINE(name##_c, parameters, arguments, call)
#define WEFT_COUNT MPI_Count
#define WEFT_DISPLACEMENT MPI_Aint
#include "mpi/pmpi/collectives.inc"
#endif
