#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "nic_profiles/embedded.hpp"
#include "nic_profiles/profile.hpp"

namespace weft::nic_profiles {

namespace {

constexpr std::size_t kMostFileBytes = 1 << 20;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return result;
}

Profile read(const EmbeddedFile& file) {
  return parse("the catalogue's " + std::string(file.name), file.text);
}

struct Entry {
  std::string name;
  DeviceId device;
};

std::vector<Entry> all_entries() {
  std::vector<Entry> entries;
  for (const EmbeddedFile& file : embedded_catalogue()) {
    entries.push_back({std::string(file.name), read(file).device});
  }
  return entries;
}

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_catalogue()) names.emplace_back(file.name);
  std::ranges::sort(names);
  return names;
}

Profile load(std::string_view name_or_path) {
  const std::string name = lower(name_or_path);
  for (const EmbeddedFile& file : embedded_catalogue()) {
    if (file.name == name) return read(file);
  }
  if (name.ends_with(".json") || name.find('/') != name.npos) {
    const std::string path(name_or_path);
    return parse(path, read_text_file(path, kMostFileBytes, "profile"));
  }
  throw_usage(
      "adapter '{}': not in the catalogue, which has {}; a file's name has a '/' or ends "
      "with .json",
      name_or_path, fmt::join(names(), ", "));
}

std::optional<std::string> find(std::uint32_t vendor, std::uint32_t part) {
  // Read once: a program asks for each of its communicators. Never destroyed: programs end in any
  // order.
  static const auto& entries = *new std::vector<Entry>(all_entries());
  for (const auto& [name, device] : entries) {
    if (vendor == 0 || device.vendor != vendor) continue;
    if (std::ranges::find(device.parts, part) != device.parts.end()) return name;
  }
  return std::nullopt;
}

}  // namespace weft::nic_profiles
