// The host MPI: the program's own, underneath this add-on.
#pragma once

#include <mpi.h>

#include <string>

namespace weft::pmpi {

/// MPI forbids that a call sends from the buffer that it receives into. Open MPI takes that as in
/// place, without a word; MPICH refuses it where both are told in the same way.
#ifdef OPEN_MPI
inline constexpr bool kRefusesEqualBuffers = false;
#else
inline constexpr bool kRefusesEqualBuffers = true;
#endif

/// Whether an alltoallw's datatypes must be good where their count is 0. MPICH does not look at
/// these: ranks that have nothing for one another may name no datatype.
#ifdef OPEN_MPI
inline constexpr bool kLooksAtTypesOfNothing = true;
#else
inline constexpr bool kLooksAtTypesOfNothing = false;
#endif

/// The host's function of that name ("PMPI_Alltoall"), past the one that this add-on defines.
/// Ends the process with one line when there is none: the call has nowhere to go.
void* host_symbol(const char* name);

template <class Function>
Function* host_function(const char* name) {
  return reinterpret_cast<Function*>(host_symbol(name));
}

/// Ends the process with one line unless the program runs on the MPI that this add-on was built
/// for. Its handles mean nothing to another, so this comes before anything that takes one.
void require_host();

/// "Open MPI v4.1.4", as the host calls itself.
std::string host_name();

}  // namespace weft::pmpi
