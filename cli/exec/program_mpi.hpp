// Program's MPI: found from its file, without running it.
#pragma once

#include <string>

namespace weft::cli {

/// A library of an MPI, as a dynamic linker finds it.
struct MpiLibrary {
  std::string mpi;   ///< As in kMpis; empty: none.
  std::string name;  ///< By which it is asked for: "libmpi.so.40".
  std::string path;  ///< Empty: not found.
};

/// What can be done for a program.
struct ProgramMpi {
  /// The MPI that it is linked with, or that of Python's mpi4py. None: it may be a script or a
  /// shell that starts the program.
  MpiLibrary library;
  std::string linker;  ///< Its dynamic linker.
  /// Why nothing can be preloaded into the program itself; in a few words.
  std::string why_not;
  /// Nor may anything be left in its environment for the programs that it starts.
  bool keep_away = false;
};

/// Of the program at `path`. An executable's libraries are those that its dynamic linker lists.
/// Python's are those of the mpi4py that it would import.
ProgramMpi mpi_of_program(const std::string& path);

/// The MPI among the libraries of an executable or a shared object.
MpiLibrary mpi_linked_with(const std::string& linker, const std::string& path);

}  // namespace weft::cli
