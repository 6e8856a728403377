// Embedded catalogue: its files, which the build puts into the library (cmake/EmbedFiles.cmake).
#pragma once

#include <span>
#include <string_view>

namespace weft::nic_profiles {

struct EmbeddedFile {
  std::string_view name;  ///< without folder and ending
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_catalogue();

}  // namespace weft::nic_profiles
