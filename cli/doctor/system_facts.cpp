#include "cli/doctor/system_facts.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"

namespace weft::cli {

namespace {

namespace fs = std::filesystem;

std::uint64_t value_of(rlim_t limit) {
  return limit == RLIM_INFINITY ? kNoLimit : limit;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The error's text where `act` throws one; else empty.
template <class Act>
std::string error_of(Act act) {
  try {
    act();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

/// Opens it as a neighbour would.
void try_memory_file() {
  const File file = make_memory_file("weft-doctor", 4096);
  const std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), file.get());
  const File again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!again) throw_errno(fmt::format("open({})", path));
}

SharedFolder look_at_shm(const fs::path& root) {
  SharedFolder folder;
  const std::string path = (root / "dev/shm").string();
  struct statvfs space = {};
  if (::statvfs(path.c_str(), &space) != 0) {
    folder.error = SystemError(path, errno).what();
    return folder;
  }
  folder.bytes = space.f_blocks * space.f_frsize;
  folder.free_bytes = space.f_bavail * space.f_frsize;
  // A file without a name: nothing stays behind.
  const File file(::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) folder.error = SystemError(path, errno).what();
  return folder;
}

/// The word in brackets of "always [madvise] never".
std::string chosen_word(const std::string& text) {
  const auto begin = text.find('[');
  const auto end = text.find(']');
  return begin == text.npos || end == text.npos ? "" : text.substr(begin + 1, end - begin - 1);
}

/// A number of bytes in a file; no limit where there is none ("max") or no file.
std::uint64_t limit_in(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t bytes = kNoLimit;
  // Version 1 writes a huge number where there is no limit.
  constexpr std::uint64_t kMost = 1ull << 60;
  return file >> bytes && bytes < kMost ? bytes : kNoLimit;
}

}  // namespace

std::uint64_t cgroup_memory(const fs::path& mount, std::string_view memberships) {
  std::uint64_t least = kNoLimit;
  const auto look = [&](const fs::path& top, fs::path group, const char* name) {
    while (true) {
      least = std::min(least, limit_in(top / group / name));
      if (group.empty()) return;
      group = group.parent_path();
    }
  };
  std::istringstream lines{std::string(memberships)};
  for (std::string line; std::getline(lines, line);) {
    // "0::/a/b" in version 2, "9:memory:/a/b" in version 1.
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = fs::path(line.substr(second + 1)).relative_path();
    if (controllers.empty()) look(mount, group, "memory.max");
    if (controllers == "memory") look(mount / "memory", group, "memory.limit_in_bytes");
  }
  return least;
}

std::string interface_of(const fs::path& root, const std::string& device, int port, int gid_index) {
  std::ifstream file(root / "sys/class/infiniband" / device / "ports" / std::to_string(port) /
                     "gid_attrs/ndevs" / std::to_string(gid_index));
  std::string name;
  file >> name;
  return name;
}

SystemFacts gather_system(const fs::path& root) {
  SystemFacts facts;
  utsname kernel = {};
  if (::uname(&kernel) == 0) facts.kernel = kernel.release;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) facts.locked_bytes = value_of(limit.rlim_cur);
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    facts.files = value_of(limit.rlim_cur);
    facts.most_files = value_of(limit.rlim_max);
  }
  facts.files_error = error_of([] { leave_descriptors(0); });
  facts.memory_file_error = error_of(try_memory_file);
  facts.shm = look_at_shm(root);
  std::ifstream yama(root / "proc/sys/kernel/yama/ptrace_scope");
  if (int scope = 0; yama >> scope) facts.ptrace_scope = scope;
  facts.huge_pages = chosen_word(text_of(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  facts.memory_limit = cgroup_memory(root / "sys/fs/cgroup", text_of(root / "proc/self/cgroup"));
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/infiniband", none)) {
    facts.adapters.push_back(entry.path().filename().string());
  }
  std::ranges::sort(facts.adapters);
  return facts;
}

}  // namespace weft::cli
