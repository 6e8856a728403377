// Profile lookup: from WEFT_PROFILE or the device to the profile that describes the adapter.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic_profiles/profile.hpp"
#include "nic_profiles/store.hpp"

namespace weft::tune {

struct FoundProfile {
  nic_profiles::Profile profile;
  /// "WEFT_PROFILE", "catalogue", "probed", or "probed without a look at other programs": kept by
  /// a probe that did not know whether the machine was quiet. "catalogue, as ...": what a probe has
  /// kept cannot be used, and why.
  std::string origin;
};

/// `setting` is the value of WEFT_PROFILE: a name in the catalogue, a file, or "none" for no
/// profile. Where it is empty, the profile is that of `device()`: the one that a probe has kept,
/// else the catalogue's. UsageError where the name or the file of the setting is wrong.
std::optional<FoundProfile> find_profile(
    std::string_view setting,
    const std::function<std::optional<nic_profiles::DeviceName>()>& device);

/// The same with the profile as JSON. Found once a process for a setting and a device: what
/// changes on disk meanwhile changes nothing. Null where there is none. Thread safe.
struct KnownProfile : FoundProfile {
  std::string text;
};
std::shared_ptr<const KnownProfile> find_profile_once(
    const std::string& setting,
    const std::function<std::optional<nic_profiles::DeviceName>()>& device);

/// What find_profile_once() has found in this process, by its describe() or the setting; null: that
/// was nothing of the kind. Thread safe.
std::shared_ptr<const KnownProfile> known_profile(std::string_view description);

/// "soft (catalogue)".
std::string describe(const FoundProfile& found);

/// The names by which a decision table may name the adapter: its profile's, the device's own and
/// the catalogue's for its id; each once. Empty where the adapter is not known.
std::vector<std::string> adapter_names(const FoundProfile* found,
                                       const std::optional<nic_profiles::DeviceName>& device);

}  // namespace weft::tune
