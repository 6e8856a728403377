// Ordered check: whether a reduction is right for an operation that is not commutative.
#pragma once

#include <mpi.h>

#include <string>

namespace weft {

/// Collective. Composes maps x -> a x + b, one of each rank, by vectors of `bytes`; true where this
/// rank's result is that of the ranks in their order (or undefined).
bool keeps_order(const std::string& collective, std::size_t bytes, MPI_Comm comm);

}  // namespace weft
