// weft preload: prints the path of the add-on for LD_PRELOAD.
#include <memory>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/options/arguments.hpp"
#include "cli/preload/installed_mpis.hpp"
#include "cli/terminal/output.hpp"

namespace weft::cli {

namespace {

struct PreloadOptions {
  Text mpi;
  bool soft_device = false;
  bool json = false;
};

std::string mpi_in_use() {
  const std::string mpi = mpi_of_mpirun().mpi;
  return mpi.empty() ? std::string(kMpis.front()) : mpi;
}

int run(const PreloadOptions& options) {
  if (options.mpi && options.soft_device) {
    throw_usage("--mpi={}: not together with --soft-device", *options.mpi);
  }
  std::vector<std::string_view> known(kMpis.begin(), kMpis.end());
  if (options.mpi) parse_choice("--mpi", *options.mpi, known);
  const std::string mpi = options.soft_device ? "" : options.mpi ? *options.mpi : mpi_in_use();
  const Addon addon = options.soft_device ? soft_device_addon() : mpi_addon(mpi);
  if (!addon.exists) {
    throw Error(fmt::format("{}: there is no such file; it is built with weft{}", addon.path,
                            options.soft_device ? "" : fmt::format(" where {} is installed", mpi)));
  }
  if (options.json) {
    Json json = {{"path", addon.path}};
    if (!mpi.empty()) json["mpi"] = mpi;
    print_json(json);
  } else {
    print(addon.path + "\n");
  }
  return kHolds;
}

}  // namespace

void add_preload(CommandLine& line) {
  const auto options = std::make_shared<PreloadOptions>();
  Command command = line.add_command("preload", "Print the path of the add-on to preload");
  command.add_option("--mpi", options->mpi, "MPI",
                     "openmpi or mpich [that of the mpirun on PATH, openmpi where there is none]");
  command.add_flag("--soft-device", options->soft_device,
                   "The software RDMA device instead, for programs that use verbs");
  command.add_flag("--json", options->json, "Print JSON");
  command.set(
      "Ends with 1 when the file is not there, 2 for bad usage.\n\n"
      "Examples:\n"
      "  mpirun -x LD_PRELOAD=$(weft preload) ./program\n"
      "  mpiexec.mpich -env LD_PRELOAD $(weft preload --mpi mpich) ./program\n"
      "  LD_PRELOAD=$(weft preload --soft-device) ibv_devinfo",
      [options] { return run(*options); });
}

}  // namespace weft::cli
