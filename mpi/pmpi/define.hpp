// Definitions of entry points: MPI functions that the dynamic linker finds before the host's.
//
// Each is defined under both of its names. C programs call MPI_X; the Fortran libraries of Open MPI
// call PMPI_X and those of MPICH MPI_X, for mpif.h, `use mpi` and `use mpi_f08` alike, with handles
// and MPI_IN_PLACE already translated. So there are no Fortran wrappers here.
#pragma once

#include <atomic>

#include "mpi/pmpi/next_host.hpp"
#include "mpi/requests/request_counts.hpp"

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

// The same of functions that start or complete requests, or wait: a jump to the host's where no
// request is weft's, else the body that follows, which may call `host`. `arguments`: the names of
// the parameters, in parentheses.
#define WEFT_DEFINE_OF_REQUESTS(name, parameters, arguments)                                 \
  static constinit std::atomic<decltype(&PMPI_##name)> host_of_##name = nullptr;             \
  static int body_of_##name(decltype(&PMPI_##name) host, WEFT_UNWRAP parameters);            \
  [[gnu::noinline]] static int by_weft_##name parameters {                                   \
    static const auto host = weft::mpi::host_function<decltype(PMPI_##name)>("PMPI_" #name); \
    host_of_##name.store(host, std::memory_order_relaxed);                                   \
    return body_of_##name(host, WEFT_UNWRAP arguments);                                      \
  }                                                                                          \
  WEFT_ENTRY int PMPI_##name parameters {                                                    \
    const auto host = host_of_##name.load(std::memory_order_relaxed);                        \
    if (host != nullptr && !weft::mpi::is_any_of_weft()) return host arguments;              \
    return by_weft_##name arguments;                                                         \
  }                                                                                          \
  extern "C" int MPI_##name parameters WEFT_ALIAS("PMPI_" #name);                            \
  static int body_of_##name(decltype(&PMPI_##name) host, WEFT_UNWRAP parameters)
