// Add-ons: the shared objects to be preloaded.
#pragma once

#include <array>
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
/// The software RDMA device (WEFT_SOFT_DEVICE names another file).
Addon soft_device_addon();

}  // namespace weft::cli
