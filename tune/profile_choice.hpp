// Which profile stands for the adapter at hand.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic_profiles/profile.hpp"
#include "nic_profiles/store.hpp"

namespace weft::tune {

struct FoundProfile {
  nic_profiles::Profile profile;
  std::string origin;  ///< "WEFT_PROFILE", "probed", "catalogue"
};

/// What WEFT_PROFILE says, in `setting`: a name in the catalogue or a file, or none, for which
/// there is no profile. Where it is empty, of the device that `device` tells: the profile that a
/// probe has kept, else the catalogue's. UsageError where a name or a file is wrong, also a probed
/// one.
std::optional<FoundProfile> find_profile(
    std::string_view setting,
    const std::function<std::optional<nic_profiles::DeviceName>()>& device);

/// "soft (catalogue)".
std::string describe(const FoundProfile& found);

/// The names by which tables may call the adapter at hand: its profile's, the device's own and the
/// catalogue's for its id; each once. None where nothing is known of it.
std::vector<std::string> adapter_names(const std::optional<FoundProfile>& found,
                                       const std::optional<nic_profiles::DeviceName>& device);

}  // namespace weft::tune
