// weft install: makes Open MPI find the component, by a link in the folder where it looks for those
// of a user.
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/options/arguments.hpp"
#include "cli/preload/addons.hpp"
#include "cli/terminal/output.hpp"

namespace weft::cli {

namespace {

namespace fs = std::filesystem;

struct InstallOptions {
  bool openmpi = false;
  bool remove = false;
  Text prefix;
};

fs::path folder_of(const InstallOptions& options) {
  if (options.prefix) return fs::absolute(*options.prefix);
  const auto folder = user_components();
  if (!folder) throw_usage("install: HOME is not set; --prefix names the folder");
  return *folder;
}

[[noreturn]] void fail(const char* what, const fs::path& path, const std::error_code& error) {
  throw Error(fmt::format("{} {}: {}", what, path.string(), error.message()));
}

int remove(const fs::path& link, bool exists) {
  std::error_code error;
  if (exists && !fs::remove(link, error)) fail("remove", link, error);
  print(fmt::format("{}: {}\n", link.string(), exists ? "removed" : "not there"));
  return kHolds;
}

int install(const fs::path& link, bool exists, const Addon& component) {
  if (!component.exists) {
    throw Error(
        fmt::format("{}: there is no such file; it is built with weft where the headers of "
                    "Open MPI are installed, its internal ones too",
                    component.path));
  }
  std::error_code error;
  fs::create_directories(link.parent_path(), error);
  if (error) fail("make", link.parent_path(), error);
  if (exists && !fs::remove(link, error)) fail("remove", link, error);
  fs::create_symlink(component.path, link, error);
  if (error) fail("make", link, error);
  print(fmt::format("{} -> {}\n", link.string(), component.path));
  return kHolds;
}

int run(const InstallOptions& options) {
  if (!options.openmpi) throw_usage("install: --openmpi is missing; nothing else can be installed");
  const Addon component = openmpi_component();
  const fs::path name = fs::path(component.path).filename();
  const fs::path link = folder_of(options) / name;
  const auto known = installed_component(link.parent_path());
  // Of this weft or another one.
  if (known && fs::path(known->target).filename() != name) {
    throw Error(fmt::format("{}: is no link to weft's component; left as it is", link.string()));
  }
  return options.remove ? remove(link, known.has_value())
                        : install(link, known.has_value(), component);
}

}  // namespace

void add_install(CommandLine& line) {
  const auto options = std::make_shared<InstallOptions>();
  Command command = line.add_command("install", "Have Open MPI load weft by itself");
  command.add_flag("--openmpi", options->openmpi,
                   "Put a link to the component where Open MPI looks for this user's");
  command.add_flag("--remove", options->remove, "Take it out again");
  command.add_option("--prefix", options->prefix, "DIR",
                     "The folder for the link [~/.openmpi/components]");
  command.set(
      "Programs of Open MPI then run over weft as they are, without LD_PRELOAD; on a cluster, "
      "where\n"
      "their hosts see the same home folder and the tool lies under the same path. Parameters:\n"
      "ompi_info --param coll weft --level 9. Without it for once: mpirun --mca coll ^weft.\n\n"
      "Ends with 1 when the component or the folder cannot be had, 2 for bad usage.\n\n"
      "Examples:\n"
      "  weft install --openmpi\n"
      "  weft install --openmpi --remove",
      [options] { return run(*options); });
}

}  // namespace weft::cli
