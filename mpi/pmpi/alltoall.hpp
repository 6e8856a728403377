// MPI_Alltoall over weft.
#pragma once

#include <mpi.h>

#include <optional>

namespace weft::pmpi {

/// The arguments of one MPI_Alltoall.
struct Alltoall {
  const void* send_buffer;
  MPI_Count send_count;
  MPI_Datatype send_type;
  void* receive_buffer;
  MPI_Count receive_count;
  MPI_Datatype receive_type;
  MPI_Comm comm;
};

/// Does the call and returns its MPI error code. Nullopt: nothing was done, the call is the host's.
/// Whether it is follows from what all ranks share, or from arguments that no rank may give, which
/// the host refuses before it communicates.
std::optional<int> run(const Alltoall& call);

}  // namespace weft::pmpi
