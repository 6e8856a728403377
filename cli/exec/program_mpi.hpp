// Program's MPI: found from its file, without running it.
#pragma once

#include <string>

namespace weft::cli {

struct ProgramMpi {
  enum class Kind {
    linked,      ///< It is linked with `mpi`, or is Python with an mpi4py that is.
    unlinked,    ///< Not itself: it may be a script or a shell that starts the program.
    impossible,  ///< No library can be preloaded: `why`.
  };
  Kind kind = Kind::unlinked;
  std::string mpi;  // as in kMpis
  std::string why;  // in a few words
};

/// Of the program at `path`. An executable's libraries are those that the dynamic linker lists.
/// Python's are those of the mpi4py that it would import.
ProgramMpi mpi_of_program(const std::string& path);

}  // namespace weft::cli
