#include "mpi/pmpi/next_host.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include <fmt/format.h>

#include "mpi/host/errors.hpp"
#include "mpi/host/host.hpp"
#include "mpi/report/job_report.hpp"

namespace weft::mpi {

namespace {

// Without MPI_Abort: the MPI has not started yet, or it is another MPI than the add-on's.
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
    end_process(fmt::format(
        "{}: no library loaded after it has {}; preload it into a program that runs on {}",
        this_library(), name, kBuiltFor));
  }
  return symbol;
}

void require_host() {
  const std::string host = host_name();
  if (host.starts_with(kBuiltFor)) return;
  end_process(
      fmt::format("LD_PRELOAD={}: built for {}, but the program runs on {}; allowed: the "
                  "add-on of the program's own MPI (weft preload --mpi openmpi|mpich)",
                  this_library(), kBuiltFor, host));
}

}  // namespace weft::mpi
