#include "nic_profiles/store.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/env.hpp"
#include "base/error.hpp"

namespace weft::nic_profiles {

namespace {

/// Device names come from the system: none leads out of the folder.
std::string safe(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-') c = '_';
  }
  return text;
}

}  // namespace

std::string store_folder() {
  if (const auto folder = env::text("WEFT_PROFILES")) return *folder;
  if (const auto cache = env::text("XDG_CACHE_HOME")) return *cache + "/weft/profiles";
  if (const auto home = env::text("HOME")) return *home + "/.cache/weft/profiles";
  return "";
}

std::string store_path(const DeviceName& device) {
  const std::string folder = store_folder();
  if (folder.empty()) return "";
  return fmt::format("{}/{}-{:04x}-{:04x}.json", folder, safe(device.name), device.vendor,
                     device.part);
}

std::optional<Profile> load_probed(const DeviceName& device) {
  const std::string path = store_path(device);
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return std::nullopt;
  return load(path);
}

std::string keep_probed(const DeviceName& device, std::string_view json) {
  std::string path = store_path(device);
  if (path.empty()) throw Error("no folder for probed profiles: HOME is not set");
  std::error_code failed;
  std::filesystem::create_directories(store_folder(), failed);
  if (failed) throw SystemError("mkdir(" + store_folder() + ")", failed.value());
  const std::string fresh = fmt::format("{}.{}", path, ::getpid());
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << json << std::flush;
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(fresh.c_str());
    throw SystemError("write(" + path + ")", error);
  }
  return path;
}

}  // namespace weft::nic_profiles
