// Functions of the host MPI that the add-on's own hide: found by name in libraries loaded after it.
#pragma once

namespace weft::mpi {

/// The host's function of that name ("PMPI_Alltoall"), not the add-on's. Ends the process with one
/// line when there is none.
void* host_symbol(const char* name);

template <class Function>
Function* host_function(const char* name) {
  return reinterpret_cast<Function*>(host_symbol(name));
}

/// Ends the process with one line unless the program runs on the MPI that this add-on was built
/// for. To be called before any call with a handle, as handles of one MPI are invalid in another.
void require_host();

}  // namespace weft::mpi
