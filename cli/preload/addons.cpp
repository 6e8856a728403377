#include "cli/preload/addons.hpp"

#include <filesystem>

#include <fmt/format.h>

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

Addon soft_device_addon() {
  return at(verbs::soft_device_path());
}

}  // namespace weft::cli
