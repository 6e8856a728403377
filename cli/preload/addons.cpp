#include "cli/preload/addons.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "base/env.hpp"
#include "base/installation.hpp"
#include "verbs/device/library.hpp"

namespace weft::cli {

namespace {

Addon at(std::string path) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  return {std::move(path), exists};
}

}  // namespace

Addon mpi_addon(std::string_view mpi) {
  return at(own_file(fmt::format("libweft-{}.so", mpi)));
}

Addon openmpi_component() {
  return at(own_file("mca_coll_weft.so"));
}

std::optional<std::filesystem::path> user_components() {
  const auto home = env::text("HOME");
  if (!home) return std::nullopt;
  return std::filesystem::path(*home) / ".openmpi/components";
}

std::optional<InstalledComponent> installed_component(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path path = folder / fs::path(openmpi_component().path).filename();
  const fs::file_status status = fs::symlink_status(path, ignored);
  if (!fs::exists(status)) return std::nullopt;
  InstalledComponent found{path.string(), "", fs::exists(path, ignored)};
  if (fs::is_symlink(status)) found.target = fs::read_symlink(path, ignored).string();
  return found;
}

Addon soft_device_addon() {
  return at(verbs::soft_device_path());
}

}  // namespace weft::cli
