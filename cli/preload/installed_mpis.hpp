// Installed MPIs: the launchers that are found, and the add-ons that load here.
#pragma once

#include <string>
#include <vector>

#include "cli/preload/addons.hpp"

namespace weft::cli {

/// An MPI that a launcher belongs to, as its version text says.
struct LauncherMpi {
  std::string mpi;      // as in kMpis; empty: another one
  std::string version;  // "4.1.4"; empty where the text has none
};

/// Of the text that `mpirun --version` prints.
LauncherMpi mpi_of_version_text(const std::string& text);

/// The MPI of the mpirun on PATH; nothing is known where there is none.
LauncherMpi mpi_of_mpirun();

/// One of kMpis as it is found here.
struct InstalledMpi {
  std::string name;      // as in kMpis
  std::string launcher;  // path; empty: none on PATH
  std::string version;   // as its launcher says; empty: unknown
  Addon addon;
  std::string load_error;  // why the add-on cannot be loaded; empty where it can, or is not there
};

/// All of kMpis. Each add-on that is there is loaded into a program that does nothing.
std::vector<InstalledMpi> installed_mpis();

}  // namespace weft::cli
