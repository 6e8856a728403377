#include "cli/preload/installed_mpis.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options/programs.hpp"

namespace weft::cli {

namespace {

/// The word behind `mark` in a text; empty where it is not there.
std::string word_behind(const std::string& text, std::string_view mark) {
  const auto at = text.find(mark);
  if (at == text.npos) return {};
  const auto begin = text.find_first_not_of(" \t", at + mark.size());
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_first_of(" \t\n", begin) - begin);
}

LauncherMpi mpi_of_launcher(const std::string& path) {
  if (path.empty()) return {};
  return mpi_of_version_text(run_program({path, "--version"}).out);
}

/// Why a shared object cannot be preloaded; empty where it can.
std::string load_error(const std::string& path) {
  const std::string nothing = look_up_program("true");
  if (nothing.empty()) return {};
  const Ran ran = run_program({nothing}, path);
  if (ran.code == 0 && ran.err.empty()) return {};
  // "/usr/bin/true: error while loading shared libraries: libmpich.so.12: cannot open .."
  const std::string line = ran.err.substr(0, ran.err.find('\n'));
  const auto colon = line.rfind("libraries: ");
  if (colon != line.npos) return line.substr(colon + 11);
  return line.empty() ? "a program with it does not run" : line;
}

}  // namespace

LauncherMpi mpi_of_version_text(const std::string& text) {
  // The version text of MPICH's launcher names the launcher, Hydra.
  if (text.find("HYDRA") != text.npos || text.find("mpich") != text.npos) {
    return {"mpich", word_behind(text, "Version:")};
  }
  if (text.find("Open MPI") != text.npos) return {"openmpi", word_behind(text, "(Open MPI)")};
  return {};
}

LauncherMpi mpi_of_mpirun() {
  return mpi_of_launcher(look_up_program("mpirun"));
}

std::vector<InstalledMpi> installed_mpis() {
  std::vector<InstalledMpi> found;
  const std::string plain = look_up_program("mpirun");
  const LauncherMpi on_path = mpi_of_launcher(plain);
  for (const std::string_view name : kMpis) {
    InstalledMpi one{std::string(name), {}, {}, mpi_addon(name), {}};
    // Where several are installed, Debian gives each a name of its own.
    const std::string own = look_up_program(fmt::format("mpirun.{}", name));
    if (on_path.mpi == name) {
      one.launcher = plain;
      one.version = on_path.version;
    } else if (!own.empty()) {
      one.launcher = own;
      one.version = mpi_of_launcher(own).version;
    }
    if (one.addon.exists) one.load_error = load_error(one.addon.path);
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace weft::cli
