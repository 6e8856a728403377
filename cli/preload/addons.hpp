// The shared objects to be preloaded.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace weft::cli {

/// The MPIs that there are add-ons for.
inline constexpr std::array<std::string_view, 2> kMpis = {"openmpi", "mpich"};

struct Addon {
  std::string path;  // where it should be, if it is nowhere
  bool exists = false;
};

/// The add-on for one of kMpis.
Addon mpi_addon(std::string_view mpi);
/// The software RDMA device (WEFT_SOFT_DEVICE names another file).
Addon soft_device_addon();

}  // namespace weft::cli
