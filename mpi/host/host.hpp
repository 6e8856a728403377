// Host MPI, that is, the program's own MPI below the add-on: its name, and how hosts differ.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>

namespace weft::mpi {

#ifdef OPEN_MPI
inline constexpr std::string_view kBuiltFor = "Open MPI";
#else
inline constexpr std::string_view kBuiltFor = "MPICH";
#endif

/// MPI forbids a call to use one buffer for sending and receiving. Open MPI treats such a call as
/// in place; MPICH refuses it where both buffers are given by equal arguments.
#ifdef OPEN_MPI
inline constexpr bool kRefusesEqualBuffers = false;
#else
inline constexpr bool kRefusesEqualBuffers = true;
#endif

/// Whether the datatypes of an alltoallw must be valid where their count is 0. MPICH ignores them.
#ifdef OPEN_MPI
inline constexpr bool kChecksTypesOfEmptyBlocks = true;
#else
inline constexpr bool kChecksTypesOfEmptyBlocks = false;
#endif

/// "Open MPI v4.1.4", as the host calls itself.
std::string host_name();

}  // namespace weft::mpi
