#include "tune/profile_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::tune {

std::optional<FoundProfile> find_profile(
    std::string_view setting,
    const std::function<std::optional<nic_profiles::DeviceName>()>& device) {
  if (setting == "none") return std::nullopt;
  if (!setting.empty()) return FoundProfile{nic_profiles::load(setting), "WEFT_PROFILE"};
  const auto name = device();
  if (!name) return std::nullopt;
  if (auto probed = nic_profiles::load_probed(*name)) {
    return FoundProfile{std::move(*probed), "probed"};
  }
  const auto known = nic_profiles::find(name->vendor, name->part);
  if (!known) return std::nullopt;
  return FoundProfile{nic_profiles::load(*known), "catalogue"};
}

std::string describe(const FoundProfile& found) {
  return fmt::format("{} ({})", found.profile.name, found.origin);
}

std::vector<std::string> adapter_names(const std::optional<FoundProfile>& found,
                                       const std::optional<nic_profiles::DeviceName>& device) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  if (found) add(found->profile.name);
  if (!device) return names;
  add(device->name);
  if (const auto known = nic_profiles::find(device->vendor, device->part)) add(*known);
  return names;
}

}  // namespace weft::tune
