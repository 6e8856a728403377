// The host's functions behind the add-on's own: found by name in the libraries loaded after it.
#pragma once

namespace weft::mpi {

/// The host's function of that name ("PMPI_Alltoall"), past the one that this add-on defines.
/// Ends the process with one line when there is none: the call has nowhere to go.
void* host_symbol(const char* name);

template <class Function>
Function* host_function(const char* name) {
  return reinterpret_cast<Function*>(host_symbol(name));
}

/// Ends the process with one line unless the program runs on the MPI that this add-on was built
/// for. Handles of one MPI mean nothing to another, so this comes before any call with a handle.
void require_host();

}  // namespace weft::mpi
