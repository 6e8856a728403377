// Add-ons: the shared objects to be preloaded, and the component that Open MPI loads itself.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace weft::cli {

/// The MPIs that have an add-on.
inline constexpr std::array<std::string_view, 2> kMpis = {"openmpi", "mpich"};

struct Addon {
  std::string path;  // the expected one, where the file does not exist
  bool exists = false;
};

/// The add-on for one of kMpis.
Addon mpi_addon(std::string_view mpi);
/// The component for Open MPI.
Addon openmpi_component();
/// What is where Open MPI looks for the component among those of a user (weft install --openmpi).
struct InstalledComponent {
  std::string path;
  std::string target;        // of the link; empty: it is no link
  bool is_loadable = false;  // the file is there
};
/// nullopt: nothing is there.
std::optional<InstalledComponent> installed_component(const std::filesystem::path& folder);
/// The folder of this user; nullopt without HOME.
std::optional<std::filesystem::path> user_components();
/// The software RDMA device (WEFT_SOFT_DEVICE names another file).
Addon soft_device_addon();

}  // namespace weft::cli
