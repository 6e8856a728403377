#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
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

Profile load_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemError("open(" + path + ")", errno);
  std::string text(kMostFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw SystemError("read(" + path + ")", errno);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostFileBytes) {
    throw_usage("{}: more than {} bytes: no profile", path, kMostFileBytes);
  }
  return parse(path, text);
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
    return load_file(std::string(name_or_path));
  }
  throw_usage(
      "adapter '{}': not in the catalogue, which has {}; a file's name has a '/' or ends "
      "with .json",
      name_or_path, fmt::join(names(), ", "));
}

std::optional<std::string> find(std::uint32_t vendor, std::uint32_t part) {
  for (const EmbeddedFile& file : embedded_catalogue()) {
    const DeviceId device = read(file).device;
    if (vendor == 0 || device.vendor != vendor) continue;
    if (std::ranges::find(device.parts, part) != device.parts.end()) return std::string(file.name);
  }
  return std::nullopt;
}

}  // namespace weft::nic_profiles
