// Libraries of MPIs: the names that programs are linked with, and the MPI of each.
#pragma once

#include <array>

namespace weft::mpi {

struct Library {
  const char* name;
  const char* mpi;  // as in the names of add-ons
};

/// Open MPI 4 and 5; MPICH by its own name, and by that of the ABI it shares with others.
inline constexpr std::array<Library, 3> kLibraries = {
    {{"libmpi.so.40", "openmpi"}, {"libmpich.so.12", "mpich"}, {"libmpi.so.12", "mpich"}}};

}  // namespace weft::mpi
