// Store of probed profiles: kept on this machine for later programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nic_profiles/profile.hpp"

namespace weft::nic_profiles {

/// A device as verbs knows it.
struct DeviceName {
  std::string name;  ///< "mlx5_0"
  std::uint32_t vendor = 0;
  std::uint32_t part = 0;
};

/// Where profiles are kept: WEFT_PROFILES, else weft/profiles below XDG_CACHE_HOME, else below
/// ~/.cache. Empty where none of these is set.
std::string store_folder();

/// The file of a device's probed profile, whether it is there or not: nodes that share a home
/// directory and have different adapters have different files. Empty where store_folder() is.
std::string store_path(const DeviceName& device);

/// The stored profile of the device; nullopt when there is none. UsageError as
/// parse() when the file is not a profile; SystemError when it cannot be read.
std::optional<Profile> load_probed(const DeviceName& device);

/// Writes the report of a probe (its to_json()) to the device's file, for load_probed(). Readers
/// see the whole old file or the whole new one. Returns the path. SystemError names the file that
/// cannot be written; Error where there is no folder to keep it in.
std::string keep_probed(const DeviceName& device, std::string_view json);

}  // namespace weft::nic_profiles
