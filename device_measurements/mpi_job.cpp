#include "device_measurements/mpi_job.hpp"

#include <dlfcn.h>

#include <array>
#include <string>

#include "base/env.hpp"
#include "base/error.hpp"
#include "base/installation.hpp"

namespace weft::device_measurements {

namespace {

struct Launcher {
  const char* mpi;
  const char* size_variable;  // set for each rank
};
constexpr std::array kLaunchers = {Launcher{"openmpi", "OMPI_COMM_WORLD_SIZE"},
                                   Launcher{"mpich", "PMI_SIZE"}};
constexpr int kMostRanks = 1 << 20;

}  // namespace

std::optional<std::string> launching_mpi() {
  for (const Launcher& launcher : kLaunchers) {
    const auto size = env::integer(launcher.size_variable, 1, kMostRanks);
    if (size && *size > 1) return launcher.mpi;
  }
  return std::nullopt;
}

void* job_function(const std::string& mpi, const char* name) {
  const std::string path = own_file(fmt::format("libweft-job-{}.so", mpi));
  // RTLD_GLOBAL: an MPI's own plugins look for its symbols.
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (object == nullptr) throw Error(fmt::format("{}", ::dlerror()));
  void* function = ::dlsym(object, name);
  if (function == nullptr) throw Error(fmt::format("{}: not of this build", path));
  return function;
}

std::unique_ptr<Bootstrap> job_bootstrap() {
  const auto mpi = launching_mpi();
  if (!mpi) return nullptr;
  using Make = Bootstrap* (*)();
  return std::unique_ptr<Bootstrap>(
      reinterpret_cast<Make>(job_function(*mpi, "weft_job_bootstrap"))());
}

}  // namespace weft::device_measurements
