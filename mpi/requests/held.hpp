// Held handles: datatypes, operations and communicators that calls under way or persistent requests
// use. A program may free them meanwhile; the host's are freed when nobody uses them any more. To a
// component the host counts their uses; elsewhere weft serves the functions that free them.
#pragma once

#include <mpi.h>

#include "mpi/calls/arguments.hpp"
#include "mpi/host/host.hpp"

namespace weft::mpi {

/// Holds handles as long as it lives. Safe from many threads.
class Held {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  /// Frees what the program has freed and nobody else holds.
  ~Held();

  /// Once.
  void hold(Handles handles);

 private:
  friend class HeldTable;

  Handles handles_;
  const HostFacts* facts_ = nullptr;  // in a component of the host
  // Elsewhere: where it stands in the list of those that hold something.
  bool is_listed_ = false;
  Held* previous_ = nullptr;
  Held* next_ = nullptr;
};

/// Whether the handle is held. Then the host's function that frees it is called with it later, and
/// the program's is to become null now.
bool free_type_later(MPI_Datatype type, int (*host)(MPI_Datatype*));
bool free_op_later(MPI_Op op, int (*host)(MPI_Op*));
bool free_comm_later(MPI_Comm comm, int (*host)(MPI_Comm*));

}  // namespace weft::mpi
