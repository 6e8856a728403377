#include "base/installation.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>

namespace weft {

namespace {

std::filesystem::path own_directory() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&own_file), &info) == 0 || info.dli_fname == nullptr) {
    return ".";
  }
  // Of the program itself the name is that by which it was called; found on PATH, it has no folder.
  const std::string_view name = info.dli_fname;
  std::error_code ignored;
  const auto path =
      std::filesystem::canonical(name.find('/') == name.npos ? "/proc/self/exe" : name, ignored);
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
