// Combiner: how a datatype was made.
#pragma once

#include <mpi.h>

namespace weft::mpi {

/// Of datatypes that MPI itself has: their handles are not to be freed.
inline bool is_predefined(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

}  // namespace weft::mpi
