#include "mpi/host/host.hpp"

#include <array>

#include <fmt/format.h>

namespace weft::mpi {

std::string host_name() {
  // Large enough for any host, also one that the add-on was not built for: MPICH asks for 8 KiB,
  // Open MPI for 256 bytes.
  std::array<char, 16384> buffer = {};
  int length = 0;
  if (PMPI_Get_library_version(buffer.data(), &length) != MPI_SUCCESS)
    return std::string(kBuiltFor);
  // Open MPI: "Open MPI v4.1.4, package: ..."; MPICH: "MPICH Version:\t4.0.2\n...".
  const std::string_view text(buffer.data(), static_cast<std::size_t>(length));
  const std::string_view name = text.substr(0, text.find_first_of(",\n"));
  constexpr std::string_view kFiller = " Version:\t";
  const auto at = name.find(kFiller);
  if (at == std::string_view::npos) return std::string(name);
  return fmt::format("{} {}", name.substr(0, at), name.substr(at + kFiller.size()));
}

}  // namespace weft::mpi
