#include "tune/profile_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.hpp"

namespace weft::tune {

namespace {

nic_profiles::Profile load_set(std::string_view setting) {
  try {
    return nic_profiles::load(setting);
  } catch (const Error& error) {
    throw_usage("WEFT_PROFILE={}: {}", setting, error.what());
  }
}

}  // namespace

std::optional<FoundProfile> find_profile(
    std::string_view setting,
    const std::function<std::optional<nic_profiles::DeviceName>()>& device) {
  if (setting == "none") return std::nullopt;
  if (!setting.empty()) return FoundProfile{load_set(setting), "WEFT_PROFILE"};
  const auto name = device();
  if (!name) return std::nullopt;
  std::string origin = "catalogue";
  try {
    if (auto probed = nic_profiles::load_probed(*name)) {
      origin = probed->intervals.empty() ? "probed without a look at other programs" : "probed";
      return FoundProfile{std::move(*probed), std::move(origin)};
    }
  } catch (const Error& error) {
    // Damaged, or of another version: nobody has asked for it by name.
    origin = fmt::format("catalogue, as the kept profile cannot be used: {}", error.what());
  }
  const auto known = nic_profiles::find(name->vendor, name->part);
  if (!known) return std::nullopt;
  return FoundProfile{nic_profiles::load(*known), std::move(origin)};
}

namespace {

struct FoundProfiles {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const KnownProfile>> known;  // by setting or device
};

FoundProfiles& found_profiles() {
  static auto& found = *new FoundProfiles;  // programs end in any order
  return found;
}

}  // namespace

std::shared_ptr<const KnownProfile> known_profile(std::string_view description) {
  auto& [mutex, known] = found_profiles();
  const std::lock_guard lock(mutex);
  for (const auto& [key, profile] : known) {
    if (profile == nullptr) continue;
    if (key == description || describe(*profile) == description) return profile;
  }
  return nullptr;
}

std::shared_ptr<const KnownProfile> find_profile_once(
    const std::string& setting,
    const std::function<std::optional<nic_profiles::DeviceName>()>& device) {
  auto& [mutex, known] = found_profiles();
  auto name = setting.empty() ? device() : std::nullopt;
  if (setting.empty() && !name) return nullptr;
  const std::string key =
      name ? fmt::format("{}\n{}\n{}", name->name, name->vendor, name->part) : setting;
  const std::lock_guard lock(mutex);
  if (const auto before = known.find(key); before != known.end()) return before->second;
  std::shared_ptr<const KnownProfile> made;
  if (auto found = find_profile(setting, [&] { return name; })) {
    std::string text = nic_profiles::to_json(found->profile);
    made = std::make_shared<const KnownProfile>(KnownProfile{std::move(*found), std::move(text)});
  }
  return known[key] = std::move(made);
}

std::string describe(const FoundProfile& found) {
  return fmt::format("{} ({})", found.profile.name, found.origin);
}

std::vector<std::string> adapter_names(const FoundProfile* found,
                                       const std::optional<nic_profiles::DeviceName>& device) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  if (found != nullptr) add(found->profile.name);
  if (!device) return names;
  add(device->name);
  if (const auto known = nic_profiles::find(device->vendor, device->part)) add(*known);
  return names;
}

}  // namespace weft::tune
