// The host MPI, the program's own below the add-on: its name, and where hosts differ.
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

/// MPI forbids a call to send from the buffer that it receives into. Open MPI takes such a call as
/// in place without complaint; MPICH refuses it where both buffers are given in the same way.
#ifdef OPEN_MPI
inline constexpr bool kRefusesEqualBuffers = false;
#else
inline constexpr bool kRefusesEqualBuffers = true;
#endif

/// Whether the datatypes of an alltoallw must be valid where their count is 0. MPICH ignores those:
/// ranks that exchange nothing need not name a datatype.
#ifdef OPEN_MPI
inline constexpr bool kLooksAtTypesOfNothing = true;
#else
inline constexpr bool kLooksAtTypesOfNothing = false;
#endif

/// "Open MPI v4.1.4", as the host calls itself.
std::string host_name();

}  // namespace weft::mpi
