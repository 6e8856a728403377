// CPU quotas of control groups, a part of detection.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hierarchy/detect.hpp"

namespace weft::hierarchy {

namespace {

namespace fs = std::filesystem;

constexpr long kMostCores = 1 << 20;

std::optional<int> cores_of(long quota_us, long period_us) {
  if (quota_us <= 0 || period_us <= 0) return std::nullopt;  // -1: no limit
  const long cores = quota_us / period_us + (quota_us % period_us != 0);
  return static_cast<int>(std::min(cores, kMostCores));
}

/// "max 100000" or "150000 100000".
std::optional<int> read_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  long quota = 0;
  long period = 0;
  if (!(file >> quota >> period)) return std::nullopt;
  return cores_of(quota, period);
}

std::optional<int> read_v1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us");
  std::ifstream period_file(group / "cpu.cfs_period_us");
  long quota = 0;
  long period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  return cores_of(quota, period);
}

/// The smallest quota of `group` and the groups above it up to `root`. In a container the group's
/// path may name what only the host sees; the root is then the container's own group.
template <class Read>
std::optional<int> smallest(const fs::path& root, fs::path group, Read read) {
  std::optional<int> least;
  while (true) {
    const auto cores = read(root / group.relative_path());
    if (cores && (!least || *cores < *least)) least = cores;
    if (!group.has_relative_path()) return least;
    group = group.parent_path();
  }
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto length = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, length));
    if (length == text.size()) return parts;
    text.remove_prefix(length + 1);
  }
}

}  // namespace

std::optional<int> cgroup_cores(const std::string& mount, std::string_view memberships) {
  const fs::path root(mount);
  std::optional<int> least;
  const auto limit = [&](std::optional<int> cores) {
    if (cores && (!least || *cores < *least)) least = cores;
  };
  for (const std::string_view line : split(memberships, '\n')) {
    // "0::/a/b" in version 2, "4:cpu,cpuacct:/a/b" in version 1.
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = fs::path("/") / fs::path(line.substr(second + 1)).relative_path();
    if (controllers.empty()) limit(smallest(root, group, read_v2));
    const auto names = split(controllers, ',');
    if (std::ranges::find(names, "cpu") != names.end()) {
      limit(smallest(root / controllers, group, read_v1));
      if (controllers != "cpu") limit(smallest(root / "cpu", group, read_v1));
    }
  }
  return least;
}

}  // namespace weft::hierarchy
