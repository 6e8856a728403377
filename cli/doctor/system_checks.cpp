#include <cstdio>

#include <fmt/format.h>

#include "cli/doctor/checks.hpp"

namespace weft::cli {

namespace {

using enum Verdict;

constexpr std::uint64_t kMiB = 1 << 20;

std::string size_text(std::uint64_t bytes) {
  if (bytes == kNoLimit) return "unlimited";
  if (bytes >= 10 * (kMiB << 10)) return fmt::format("{} GiB", bytes / (kMiB << 10));
  if (bytes >= kMiB) return fmt::format("{} MiB", bytes / kMiB);
  return fmt::format("{} KiB", bytes / 1024);
}

std::string number_text(std::uint64_t number) {
  return number == kNoLimit ? "unlimited" : fmt::format("{}", number);
}

Finding check_kernel(const SystemFacts& system) {
  Finding found{ok, "kernel", system.kernel, "", ""};
  int major = 0;
  int minor = 0;
  if (std::sscanf(system.kernel.c_str(), "%d.%d", &major, &minor) != 2) return found;
  if (major > 5 || (major == 5 && minor >= 3)) return found;
  found.verdict = warning;
  found.meaning = "the death of a neighbour is noticed late, for want of pidfd_open (5.3)";
  found.remedy = "ask your administrator for Linux 5.3 or newer";
  return found;
}

/// Memory that an adapter can reach has to be locked; the software device locks none.
Finding check_locked(const SystemFacts& system) {
  constexpr std::uint64_t kLeast = 16 * kMiB;  // rings, stages and scratch memory
  constexpr std::uint64_t kPlenty = 1024 * kMiB;
  Finding found{ok, "locked memory", size_text(system.locked_bytes), "", ""};
  if (system.adapters.empty()) {
    found.meaning = "matters with an adapter; here is none";
    return found;
  }
  if (system.locked_bytes >= kPlenty) return found;
  found.verdict = system.locked_bytes < kLeast ? problem : warning;
  found.meaning = found.verdict == problem
                      ? "the adapter cannot be used: calls between nodes go to the MPI"
                      : "large buffers are copied before they are sent";
  found.remedy =
      "ulimit -l unlimited (as root: echo '* - memlock unlimited' >/etc/security/limits.d/"
      "rdma.conf, and log in anew; for Slurm: LimitMEMLOCK=infinity in slurmd.service)";
  return found;
}

Finding check_files(const SystemFacts& system) {
  constexpr std::uint64_t kFew = 1024;
  Finding found{ok, "open files", number_text(system.files), "", ""};
  if (!system.files_error.empty()) {
    found.verdict = problem;
    found.state += "; " + system.files_error;
    found.meaning = "weft takes no descriptor more: calls go to the MPI";
  } else if (system.files < kFew) {
    found.verdict = warning;
    found.meaning = "a quarter is left to the program: jobs of many ranks go to the MPI";
  }
  if (found.verdict == ok) return found;
  found.remedy = system.most_files > system.files
                     ? fmt::format("ulimit -n {}", number_text(system.most_files))
                     : "as root: echo '* - nofile 65536' >/etc/security/limits.d/files.conf, and "
                       "log in anew";
  return found;
}

Finding check_memory_files(const SystemFacts& system) {
  Finding found{ok, "shared memory", "files in memory work", "", ""};
  if (system.memory_file_error.empty()) return found;
  found.verdict = problem;
  found.state = system.memory_file_error;
  found.meaning = "ranks of a node share no memory: all calls go to the MPI";
  found.remedy =
      "allow memfd_create and /proc/PID/fd (docker run --security-opt seccomp=unconfined)";
  return found;
}

/// weft itself has no files there; the MPI does, and so do the ranks that it starts.
Finding check_shm(const SystemFacts& system) {
  constexpr std::uint64_t kLittle = 128 * kMiB;
  const SharedFolder& shm = system.shm;
  Finding found{ok, "/dev/shm",
                fmt::format("{} free of {}", size_text(shm.free_bytes), size_text(shm.bytes)), "",
                ""};
  if (!shm.error.empty()) {
    found.verdict = problem;
    found.state = shm.error;
    found.meaning = "weft does without it, but the MPI needs it: programs may not start";
    found.remedy = "as root: mount -t tmpfs -o rw,mode=1777 tmpfs /dev/shm";
  } else if (shm.free_bytes < kLittle) {
    found.verdict = warning;
    found.meaning = "weft does without it, but the MPI needs it, for messages between ranks";
    found.remedy = "as root: mount -o remount,size=50% /dev/shm (docker run --shm-size=1g)";
  }
  return found;
}

Finding check_cma(const SystemFacts& system, const Info& info) {
  Finding found{ok, "neighbours' memory", "read in place (cma)", "", ""};
  for (const auto& view : info.views) {
    if (view.name != "cma" || view.works) continue;
    found.verdict = warning;
    found.state = view.why;
    found.meaning = "large blocks inside a node are copied twice";
    found.remedy = "export WEFT_SHARED_HEAP=1, which needs no right; or ";
    if (system.ptrace_scope.value_or(0) > 0) {
      found.state += fmt::format("; kernel.yama.ptrace_scope is {}", *system.ptrace_scope);
      found.remedy += "as root: sysctl kernel.yama.ptrace_scope=0";
    } else {
      found.remedy += "docker run --cap-add=SYS_PTRACE";
    }
  }
  return found;
}

Finding check_registrations(const SystemFacts& system, const Info& info) {
  Finding found{ok, "registrations", "kept for later calls (userfaultfd)", "", ""};
  if (info.registration_error.empty()) return found;
  found.state = info.registration_error;
  found.meaning = "buffers are registered for each call anew";
  if (system.adapters.empty()) return found;
  found.verdict = warning;
  found.remedy = "as root: sysctl vm.unprivileged_userfaultfd=1 (in a container allow userfaultfd)";
  return found;
}

Finding check_huge_pages(const SystemFacts& system) {
  Finding found{ok, "huge pages", system.huge_pages.empty() ? "unknown" : system.huge_pages, "",
                ""};
  if (system.huge_pages != "never") return found;
  found.verdict = warning;
  found.meaning = "large buffers are read and registered in pages of 4 KiB";
  found.remedy = "as root: echo madvise >/sys/kernel/mm/transparent_hugepage/enabled";
  return found;
}

Finding check_cores(const Info& info) {
  Finding found{ok, "cores", info.topology, "", ""};
  if (info.bound_cores <= info.cores) {
    found.state += fmt::format("; {} usable here", info.cores);
    return found;
  }
  found.verdict = warning;
  found.state =
      fmt::format("{} of {} by the quota of the control group", info.cores, info.bound_cores);
  found.meaning = fmt::format(
      "more than {} ranks are stopped in turns, and those that wait for "
      "them sleep",
      info.cores);
  found.remedy =
      fmt::format("docker run --cpus={} (or start {} ranks)", info.bound_cores, info.cores);
  return found;
}

Finding check_memory(const SystemFacts& system) {
  constexpr std::uint64_t kLittle = 512 * kMiB;
  Finding found{ok, "memory limit", size_text(system.memory_limit), "", ""};
  if (system.memory_limit >= kLittle) return found;
  found.verdict = warning;
  found.meaning = "shared memory counts to it: programs of many ranks are killed";
  found.remedy = "docker run --memory=4g (Slurm: srun --mem=4G)";
  return found;
}

}  // namespace

Findings check_system(const SystemFacts& system, const Info& info) {
  return {check_kernel(system),     check_cores(info),
          check_memory(system),     check_files(system),
          check_locked(system),     check_memory_files(system),
          check_shm(system),        check_cma(system, info),
          check_huge_pages(system), check_registrations(system, info)};
}

}  // namespace weft::cli
