#include "base/installation.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace weft {

namespace {

std::filesystem::path own_directory() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&own_file), &info) == 0 || info.dli_fname == nullptr) {
    return ".";
  }
  std::error_code ignored;
  const auto path = std::filesystem::canonical(info.dli_fname, ignored);
  return ignored ? std::filesystem::path(info.dli_fname).parent_path() : path.parent_path();
}

}  // namespace

std::string own_file(std::string_view name) {
  const auto directory = own_directory();
  for (const char* place : {".", "../lib", "../lib/weft", ".."}) {
    const auto path = directory / place / name;
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path.lexically_normal().string();
  }
  return (directory / name).string();
}

}  // namespace weft
