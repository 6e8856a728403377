// System facts: limits, rights and the kernel, as `weft doctor` finds them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// A folder of shared memory.
struct SharedFolder {
  std::string error;  // why no file can be made there; else empty
  std::uint64_t bytes = 0;
  std::uint64_t free_bytes = 0;
};

struct SystemFacts {
  std::string kernel;  // "6.1.0-13-amd64"
  std::uint64_t locked_bytes = kNoLimit;
  std::uint64_t files = kNoLimit;         // the limit in force
  std::uint64_t most_files = kNoLimit;    // to which it may be raised
  std::string files_error;                // why weft would take no more descriptors; else empty
  std::string memory_file_error;          // why there is no shared memory; else empty
  SharedFolder shm;                       // /dev/shm
  std::optional<int> ptrace_scope;        // of Yama; none where it is not there
  std::string huge_pages;                 // "always", "madvise", "never"; empty: unknown
  std::uint64_t memory_limit = kNoLimit;  // of the control group, in bytes
  std::vector<std::string> adapters;      // RDMA devices that the kernel has
};

/// Asks the system. Files of /proc and /sys are read below `root`, which tests replace.
SystemFacts gather_system(const std::filesystem::path& root = "/");

/// The least limit of the control group that `memberships` (the text of /proc/self/cgroup) names,
/// and of those above it, below `mount`; version 2 and version 1.
std::uint64_t cgroup_memory(const std::filesystem::path& mount, std::string_view memberships);

/// The network interface of an entry of a RoCE port's table of GIDs; empty where it has none.
std::string interface_of(const std::filesystem::path& root, const std::string& device, int port,
                         int gid_index);

}  // namespace weft::cli
