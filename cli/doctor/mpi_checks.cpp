#include <algorithm>

#include <fmt/format.h>

#include "cli/doctor/checks.hpp"

namespace weft::cli {

namespace {

using enum Verdict;

std::string title_of(const std::string& mpi) {
  return mpi == "openmpi" ? "Open MPI" : "MPICH";
}

Finding check_mpi(const InstalledMpi& mpi) {
  const std::string title = title_of(mpi.name);
  Finding found{ok, title, "", "", ""};
  const bool works = mpi.addon.exists && mpi.load_error.empty();
  if (mpi.launcher.empty()) {
    found.state = works ? "no mpirun on PATH; its add-on loads" : "not here";
    return found;
  }
  found.state = fmt::format("{}, {}", mpi.launcher,
                            mpi.version.empty() ? "of an unknown version" : mpi.version);
  if (works) {
    found.state += fmt::format("; {}", mpi.addon.path);
    return found;
  }
  found.verdict = problem;
  found.meaning = fmt::format("programs of {} run without weft", title);
  if (!mpi.addon.exists) {
    found.state += fmt::format("; there is no {}", mpi.addon.path);
    found.remedy =
        fmt::format("apt install weft-{} (or build weft where mpicc.{} is)", mpi.name, mpi.name);
  } else {
    found.state += fmt::format("; the add-on cannot be loaded: {}", mpi.load_error);
    found.remedy = fmt::format("ldd {}", mpi.addon.path);
  }
  return found;
}

}  // namespace

Findings check_mpis(std::span<const InstalledMpi> mpis, const Addon& guide) {
  Findings findings;
  for (const InstalledMpi& mpi : mpis) findings.push_back(check_mpi(mpi));
  const bool none = std::ranges::all_of(mpis, [](const InstalledMpi& mpi) {
    return mpi.launcher.empty() && (!mpi.addon.exists || !mpi.load_error.empty());
  });
  if (none) {
    findings.push_back({problem, "MPI", "neither Open MPI nor MPICH", "there is nothing to serve",
                        "apt install openmpi-bin weft-openmpi"});
  }
  if (!guide.exists) {
    findings.push_back({problem, "weft exec", fmt::format("there is no {}", guide.path),
                        "shells and scripts run without weft", "install weft anew"});
  }
  return findings;
}

Findings check_component(const std::optional<InstalledComponent>& installed,
                         const Addon& component) {
  const std::string name = "component of Open MPI";
  if (!installed) return {{ok, name, "not installed: programs need the add-on to preload", "", ""}};
  const std::string state = installed->target.empty()
                                ? installed->path
                                : fmt::format("{} -> {}", installed->path, installed->target);
  if (!installed->is_loadable) {
    return {{problem, name, state + ", which is not there", "programs run without weft by it",
             component.exists ? "weft install --openmpi" : "weft install --openmpi --remove"}};
  }
  if (component.exists && installed->target != component.path) {
    return {{warning, name, state, fmt::format("it is not that of this weft, {}", component.path),
             installed->target.empty() ? fmt::format("rm {}", installed->path)
                                       : "weft install --openmpi"}};
  }
  return {{ok, name, state, "", ""}};
}

}  // namespace weft::cli
