// Control groups: the number of cores that they grant to this process.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace weft::hierarchy {

/// The CPU quota in cores, rounded up; nullopt where there is none. `memberships` is the text of
/// /proc/self/cgroup, `mount` the folder where control groups are mounted (/sys/fs/cgroup). Reads
/// version 2 (cpu.max) and version 1 (cpu.cfs_quota_us), the group and those above it: the
/// smallest counts. Files that are not there set no limit.
std::optional<int> cgroup_cores(const std::filesystem::path& mount, std::string_view memberships);

}  // namespace weft::hierarchy
