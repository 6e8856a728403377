// Communicators of a drawn program, made in every way that MPI has.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "random.hpp"

namespace weft::test {

/// A communicator as this rank has it; ranks that are not in it have none (MPI_COMM_NULL).
struct Communicator {
  MPI_Comm handle = MPI_COMM_NULL;
  bool is_inter = false;
  bool has_neighbours = false;
  bool is_hosts = false;  // its collectives are the MPI's own: weft does not take them
  int rank = 0, size = 0;
  int peers = 0;                // ranks of the other group of an inter-communicator, else `size`
  int side = 0;                 // 0 or 1: which group of an inter-communicator this rank is in
  std::uint64_t instance = 0;   // the same on its ranks, of both groups
  std::vector<int> ranks;       // of its ranks in MPI_COMM_WORLD
  std::vector<int> neighbours;  // of which a neighbourhood allgather receives; MPI_PROC_NULL: none
};

/// What `handle` is, found by MPI's own inquiries.
Communicator described(MPI_Comm handle);
/// Finds the neighbours in a communicator with a topology.
void find_neighbours(Communicator& communicator);

/// Makes a communicator of ranks of `parent`, not an inter-communicator; its ranks all call this
/// with equal `seed`.
MPI_Comm make_communicator(const Communicator& parent, std::uint64_t seed);
const char* way_of_making(std::uint64_t seed);
/// Whether what is made has a topology. In Open MPI 4.1 others get a broken one of their parents.
bool makes_neighbours(std::uint64_t seed);
/// Whether the add-on cannot follow this way.
bool is_hosts_way(std::uint64_t seed);

}  // namespace weft::test
