// MPI's predefined operations and datatypes in weft's terms.
#pragma once

#include <mpi.h>

#include <optional>

#include "kernels/operation.hpp"

namespace weft::mpi {

/// Nullopt: not predefined, or not an operation for reductions.
std::optional<Operator> operator_of(MPI_Op op);

/// Whether this is one of the predefined datatypes that reductions take.
bool is_for_reductions(MPI_Datatype type);

/// What an element of such a datatype is. Nullopt: nothing that weft has kernels for.
std::optional<Type> element_of(MPI_Datatype type);

}  // namespace weft::mpi
