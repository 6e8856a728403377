// Facts that the host tells a component of its own, and nobody else, and what it does for it. Plain
// C.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/// What a persistent request starts. Owned by the request.
struct weft_startable {
  void* work;
  /// Begins the work; the request is completed later, or before this returns. MPI's error code.
  int (*start)(void* work, MPI_Request request);
  /// Frees the work.
  void (*drop)(void* work);
};

struct weft_host_facts {
  /// A number that all ranks of a communicator know it by, and no two communicators of a process at
  /// a time have.
  uint64_t (*number_of)(MPI_Comm comm);
  /// Whether MPI_Type_get_envelope works: not on types that the host has made for itself, of which
  /// the component sees collectives, too.
  bool (*has_envelope)(MPI_Datatype type);

  /// The host calls `progress` in all of its waits from now on. False: it cannot.
  bool (*call_in_waits)(int (*progress)(void));
  /// A request of a collective that is under way on the communicator, which it keeps.
  /// MPI_REQUEST_NULL without memory.
  MPI_Request (*new_request)(MPI_Comm comm);
  /// An inactive persistent one. Without memory, MPI_REQUEST_NULL: the caller drops what it starts.
  MPI_Request (*new_persistent_request)(MPI_Comm comm, struct weft_startable started);
  /// Ends what is under way with MPI's error code. The request may be gone then.
  void (*complete)(MPI_Request request, int code);

  // The host frees such a handle when the program has freed it and nobody holds it.
  void (*hold_type)(MPI_Datatype type, bool holds);
  void (*hold_op)(MPI_Op op, bool holds);
};
