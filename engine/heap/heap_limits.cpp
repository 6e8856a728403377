#include "engine/heap/heap_limits.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "engine/heap/heap.hpp"
#include "engine/heap/mimalloc.hpp"

namespace weft::engine::heap {

namespace {

// Every rank of a node maps every other's: 256 of these fit into the addresses of a process.
constexpr std::uint64_t kMost = std::uint64_t{256} << 30;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// memory.max of this process's control group and of the groups around it; version 1 names it
/// otherwise.
std::uint64_t group_limit() {
  std::uint64_t limit = kUnlimited;
  const auto apply = [&limit](const std::string& path) {
    const std::string text = first_line(path);
    if (text.empty() || text == "max") return;
    limit = std::min<std::uint64_t>(limit, std::strtoull(text.c_str(), nullptr, 10));
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto name = line.find(':');
    const auto path = line.find(':', name + 1);
    if (name == std::string::npos || path == std::string::npos) continue;
    const std::string controllers = line.substr(name + 1, path - name - 1);
    std::string group = line.substr(path + 1);
    if (!controllers.empty() && controllers != "memory") continue;
    const bool second = controllers.empty();
    while (true) {
      apply(second ? "/sys/fs/cgroup" + group + "/memory.max"
                   : "/sys/fs/cgroup/memory" + group + "/memory.limit_in_bytes");
      const auto slash = group.find_last_of('/');
      if (group.size() <= 1 || slash == std::string::npos) break;
      group.resize(std::max<std::size_t>(slash, 1));
    }
  }
  return limit;
}

std::uint64_t resource_limit(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return kUnlimited;
  return limit.rlim_cur == RLIM_INFINITY ? kUnlimited : limit.rlim_cur;
}

}  // namespace

Limit limit_of(std::uint64_t asked) {
  // The kernel then counts memory when it is mapped, and the whole heap would count.
  if (first_line("/proc/sys/vm/overcommit_memory") == "2") {
    return {0, "vm.overcommit_memory is 2"};
  }
  const auto memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t bytes = asked != 0 ? asked : std::min({memory, group_limit(), kMost});
  // The system ends a process that makes too large a file. Of the addresses the rest of the process
  // needs some, too.
  const std::uint64_t file = resource_limit(RLIMIT_FSIZE);
  const std::uint64_t addresses = resource_limit(RLIMIT_AS);
  if (file != kUnlimited) bytes = std::min(bytes, file);
  if (addresses != kUnlimited) bytes = std::min(bytes, addresses / 4);
  bytes = bytes / kSegmentBytes * kSegmentBytes;
  if (bytes == 0) {
    return {0, fmt::format("limits on files (ulimit -f), addresses (ulimit -v) or memory leave "
                           "less than {} MiB",
                           kSegmentBytes >> 20)};
  }
  return {bytes, {}};
}

}  // namespace weft::engine::heap
