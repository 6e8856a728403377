// Key values under MPICH's launcher: PMI-1.
#include "mpi/world/key_values.hpp"

#include <mpi.h>

#ifndef OPEN_MPI

namespace weft::mpi {

void publish_before_init() noexcept {}

bool has_key_values() noexcept {
  return false;
}

AddOn addon_of(int) noexcept {
  return AddOn::missing;
}

}  // namespace weft::mpi
#endif
