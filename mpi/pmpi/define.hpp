// Definitions of entry points: MPI functions that the dynamic linker finds before the host's.
//
// Each is defined under both of its names. C programs call MPI_X; the Fortran libraries of Open MPI
// call PMPI_X and those of MPICH MPI_X, for mpif.h, `use mpi` and `use mpi_f08` alike, with handles
// and MPI_IN_PLACE already translated. So there are no Fortran wrappers here.
#pragma once

#include "mpi/pmpi/next_host.hpp"

#define WEFT_ENTRY extern "C" __attribute__((visibility("default")))
#define WEFT_ALIAS(name) __attribute__((alias(name), visibility("default")))

// The contents of parentheses.
#define WEFT_UNWRAP(...) __VA_ARGS__

// Defines PMPI_name, and MPI_name as another name for it. The body may call `host`.
#define WEFT_DEFINE(name, parameters, ...)                                                   \
  WEFT_ENTRY int PMPI_##name parameters {                                                    \
    static const auto host = weft::mpi::host_function<decltype(PMPI_##name)>("PMPI_" #name); \
    __VA_ARGS__                                                                              \
  }                                                                                          \
  extern "C" int MPI_##name parameters WEFT_ALIAS("PMPI_" #name);
