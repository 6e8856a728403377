#include "mpi/pmpi/host.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "mpi/pmpi/types/failure.hpp"

namespace weft::pmpi {

namespace {

#ifdef OPEN_MPI
constexpr std::string_view kBuiltFor = "Open MPI";
#else
constexpr std::string_view kBuiltFor = "MPICH";
#endif

// There is no MPI to abort through: its start has not come, or it is another one.
[[noreturn]] void end_process(const std::string& line) {
  print_line(line);
  ::_exit(kUsageExitCode);
}

std::string this_library() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&require_host), &info) == 0) return "the weft add-on";
  return info.dli_fname;
}

}  // namespace

void* host_symbol(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  if (symbol == nullptr) {
    end_process(fmt::format("{}: no MPI after it has {}; preload it into a program that runs on {}",
                            this_library(), name, kBuiltFor));
  }
  return symbol;
}

std::string host_name() {
  // Of another host's size, when it is the wrong one: MPICH asks for 8 KiB, Open MPI for 256 bytes.
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

void require_host() {
  const std::string host = host_name();
  if (host.starts_with(kBuiltFor)) return;
  end_process(
      fmt::format("LD_PRELOAD={}: built for {}, but the program runs on {}; allowed: the "
                  "add-on of the program's own MPI (weft preload --mpi openmpi|mpich)",
                  this_library(), kBuiltFor, host));
}

}  // namespace weft::pmpi
