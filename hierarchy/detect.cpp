#include "hierarchy/detect.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "base/env.hpp"
#include "base/error.hpp"
#include "hierarchy/groups.hpp"

namespace weft::hierarchy {

namespace {

constexpr int kMostNodes = 1'000'000;

int cores_in(std::string_view mask) {
  int cores = 0;
  for (const char byte : mask) cores += std::popcount(static_cast<unsigned char>(byte));
  return cores;
}

/// The part of so many cores that a quota allows; `cores` 0: their number is unknown.
int within(int quota, int cores) {
  return std::max(1, quota != 0 && (cores == 0 || quota < cores) ? quota : cores);
}

Machine split_evenly(const Machine& real, int blocks) {
  std::vector<int> node_of_rank(static_cast<std::size_t>(real.ranks()));
  for (int node = 0; node < real.nodes(); ++node) {
    auto rank = real.ranks_on(node).begin();
    int number = node * blocks;
    for (const int size : even_blocks(static_cast<int>(real.ranks_on(node).size()), blocks)) {
      for (int i = 0; i < size; ++i) node_of_rank[*rank++] = number;
      ++number;
    }
  }
  return Machine(std::move(node_of_rank)).with_domains(real.domain_of_rank());
}

/// The numbers in a socket identity; {-1, -1} where the text is not one.
std::pair<int, int> package_and_l3(const std::string& identity) {
  std::pair<int, int> numbers = {-1, -1};
  const char* const end = identity.data() + identity.size();
  const auto package = std::from_chars(identity.data(), end, numbers.first);
  if (package.ec != std::errc() || package.ptr == end) return {-1, -1};
  const auto l3 = std::from_chars(package.ptr + 1, end, numbers.second);
  return l3.ec == std::errc() ? numbers : std::pair(-1, -1);
}

void check_placement(const Machine& real, const Machine& asked, std::string_view setting) {
  if (asked.ranks() != real.ranks()) {
    throw_usage("WEFT_NODES={}: places {} ranks, but there are {}", setting, asked.ranks(),
                real.ranks());
  }
  for (int node = 0; node < asked.nodes(); ++node) {
    const auto ranks = asked.ranks_on(node);
    for (const int rank : ranks) {
      if (real.same_node(rank, ranks.front())) continue;
      throw_usage(
          "WEFT_NODES={}: joins ranks {} and {}, which run on different nodes: it may only "
          "split nodes",
          setting, ranks.front(), rank);
    }
  }
}

}  // namespace

std::string kernel_identity() {
  constexpr const char* kPath = "/proc/sys/kernel/random/boot_id";
  std::ifstream file(kPath);
  std::string boot;
  if (!(file >> boot)) throw SystemError(fmt::format("read({})", kPath), EIO);
  return boot;
}

std::string host_identity() {
  std::string identity = kernel_identity();
  for (const char* path : {"/proc/self/ns/pid", "/proc/self/ns/user"}) {
    struct stat status = {};
    if (::stat(path, &status) != 0) throw_errno(fmt::format("stat({})", path));
    identity += fmt::format(":{}", status.st_ino);
  }
  // Where /proc is of another PID namespace, the numbers in it are not those that processes know of
  // themselves: this one finds no other there.
  std::error_code error;
  const auto number = std::filesystem::read_symlink("/proc/self", error);
  if (error || number != std::to_string(::getpid())) {
    identity += fmt::format(":alone:{}:{}", number.string(), ::getpid());
  }
  return identity;
}

std::string affinity_mask() {
  // The kernel refuses a mask that is shorter than its own.
  for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 2) {
    std::string mask(CPU_ALLOC_SIZE(cpus), '\0');
    if (sched_getaffinity(0, mask.size(), reinterpret_cast<cpu_set_t*>(mask.data())) == 0)
      return mask;
  }
  return {};
}

int usable_cores() {
  return within(cpu_quota(), cores_in(affinity_mask()));
}

int usable_cores(std::span<const std::string> masks) {
  return cores_of(masks).usable;
}

int cpu_quota() {
  std::ifstream file("/proc/self/cgroup");
  const std::string memberships(std::istreambuf_iterator<char>(file), {});
  return cgroup_cores("/sys/fs/cgroup", memberships).value_or(0);
}

Cores cores_of(std::span<const std::string> masks) {
  return cores_of(masks, cpu_quota());
}

Cores cores_of(std::span<const std::string> masks, int quota) {
  std::string all;
  for (const std::string& mask : masks) {
    all.resize(std::max(all.size(), mask.size()));
    for (std::size_t i = 0; i < mask.size(); ++i) all[i] = static_cast<char>(all[i] | mask[i]);
  }
  const int bound = cores_in(all);
  return {bound, within(quota, bound)};
}

std::string describe(const Cores& cores) {
  if (cores.bound <= cores.usable) {
    return fmt::format("{} core{}", cores.usable, cores.usable == 1 ? "" : "s");
  }
  return fmt::format("{} of {} cores (cgroup quota)", cores.usable, cores.bound);
}

Machine machine_from(std::span<const std::string> identities) {
  std::map<std::string_view, int> number;
  std::vector<int> node_of_rank;
  node_of_rank.reserve(identities.size());
  for (const std::string& identity : identities) {
    node_of_rank.push_back(
        number.try_emplace(identity, static_cast<int>(number.size())).first->second);
  }
  return Machine(std::move(node_of_rank));
}

Machine with_sockets(const Machine& machine, std::span<const std::string> identities) {
  std::vector<int> labels(static_cast<std::size_t>(machine.ranks()));
  for (int node = 0; node < machine.nodes(); ++node) {
    const auto ranks = machine.ranks_on(node);
    const auto l3_of = [&](int rank) { return package_and_l3(identities[rank]).second; };
    const auto package_of = [&](int rank) { return package_and_l3(identities[rank]).first; };
    const bool by_l3 = std::ranges::all_of(ranks, [&](int rank) { return l3_of(rank) >= 0; });
    if (!by_l3 && std::ranges::any_of(ranks, [&](int rank) { return package_of(rank) < 0; })) {
      continue;
    }
    for (const int rank : ranks) labels[rank] = by_l3 ? l3_of(rank) : package_of(rank);
  }
  return machine.with_domains(labels);
}

Machine with_virtual_nodes(const Machine& real, std::string_view setting) {
  if (setting.find_first_of("x+,") != setting.npos) {
    std::optional<Machine> asked;
    try {
      asked = Machine::parse(setting);
    } catch (const UsageError& error) {
      throw_usage("WEFT_NODES={}: {}", setting, error.what());
    }
    if (real.ranks() == 1) return real;
    check_placement(real, *asked, setting);
    return asked->has_domains() ? *asked : asked->with_domains(real.domain_of_rank());
  }
  int fewest = real.ranks();
  for (int node = 0; node < real.nodes(); ++node) {
    fewest = std::min(fewest, static_cast<int>(real.ranks_on(node).size()));
  }
  std::int64_t count = 0;
  try {
    count = env::parse_integer("WEFT_NODES", setting, 1, kMostNodes);
  } catch (const UsageError&) {
    throw_usage(
        "WEFT_NODES={}: not a whole number from 1 to {}, nor a machine such as 3x4, 3x4:cyclic, "
        "1+3+4 or 0,1,0,1",
        setting, kMostNodes);
  }
  return count > fewest ? real : split_evenly(real, static_cast<int>(count));
}

}  // namespace weft::hierarchy
