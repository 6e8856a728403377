// Predefined MPI operations and datatypes, and their counterparts in weft.
#pragma once

#include <mpi.h>

#include <optional>

#include "kernels/operation.hpp"

namespace weft::mpi {

/// Nullopt: not predefined, or not an operation for reductions.
std::optional<Operator> operator_of(MPI_Op op);

/// Whether this is one of the predefined datatypes that reductions take.
bool is_for_reductions(MPI_Datatype type);

/// The element type of such a datatype. Nullopt: weft has no kernels for it.
std::optional<Type> element_of(MPI_Datatype type);

}  // namespace weft::mpi
