// Neighbourhood of a rank: the ranks to which its communicator's topology joins it, as MPI's
// neighbourhood collectives number its blocks.
#pragma once

#include <mpi.h>

#include <vector>

namespace weft::mpi {

/// A neighbour, and the number of its block among those of the call.
struct Neighbour {
  int rank = 0;
  int block = 0;

  bool operator==(const Neighbour&) const = default;
};

/// Of those to which one rank sends the k-th that is a given rank is matched by the k-th among
/// those from which that one receives. Without MPI_PROC_NULL, whose blocks stay as they are.
struct Neighbourhood {
  bool exists = false;  // the communicator has a topology
  /// Blocking calls of the host bring the same results. Alike on all ranks, as `exists` is.
  bool is_matched_by_host = false;
  bool is_grid = false;    // the topology is Cartesian
  bool is_of_all = false;  // each rank has edges: alike on all ranks
  int sends = 0;           // blocks of a call, those of MPI_PROC_NULL included
  int receives = 0;
  std::vector<Neighbour> destinations;
  std::vector<Neighbour> sources;
};

/// Asks the host. On all ranks alike there is a topology or none. `graph_is_of_all`: of a
/// distributed graph, of which a rank knows its own edges only, what all ranks have agreed on.
///
/// On a Cartesian one block 2d is of the neighbour behind in dimension d, block 2d + 1 of the one
/// before. What is sent backwards comes from the front there, also where both are one rank, in
/// periodic dimensions of one or two ranks (MPI 4.0, section 8.6).
Neighbourhood neighbourhood_of(MPI_Comm comm, bool graph_is_of_all);

}  // namespace weft::mpi
