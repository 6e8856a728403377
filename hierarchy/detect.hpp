// Detection: host, cores and sockets of this process.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hierarchy/machine.hpp"

namespace weft::hierarchy {

/// Equal for two processes exactly when they can share memory through /proc/<pid>/fd: same kernel
/// boot, same PID and user namespace, and a /proc of that PID namespace. Host names do not decide:
/// containers share or fake them.
std::string host_identity();

/// Equal for two processes exactly when one kernel runs both: also for containers of one machine.
std::string kernel_identity();

/// The cores that this process may use at once: the smaller of its affinity mask and its cgroup's
/// CPU quota (v1 or v2, rounded up), at least 1.
int usable_cores();

/// The CPU quota in cores, rounded up; nullopt where there is none. `memberships` is the text of
/// /proc/self/cgroup, `mount` the folder where control groups are mounted (/sys/fs/cgroup). Reads
/// version 2 (cpu.max) and version 1 (cpu.cfs_quota_us), the group and those above it: the
/// smallest counts. Files that are not there set no limit.
std::optional<int> cgroup_cores(const std::string& mount, std::string_view memberships);

/// The cores that this process may run on, a bit each; empty when the kernel does not say.
std::string affinity_mask();
/// The cores that processes with these masks may use together: launchers bind each rank to a core
/// of its own.
int usable_cores(std::span<const std::string> masks);

/// Usable cores, and the part of the cgroup's CPU quota in it.
struct Cores {
  int bound = 0;   // by the masks; 0: the kernel does not say
  int usable = 1;  // of these, by the quota
};
Cores cores_of(std::span<const std::string> masks);
/// The same with the quota of the processes' cgroup, which may be on another host; 0: none.
Cores cores_of(std::span<const std::string> masks, int quota);
/// The CPU quota of this process's cgroup in cores, rounded up; 0: none.
int cpu_quota();
/// "2 cores", "2 of 16 cores (cgroup quota)".
std::string describe(const Cores& cores);

/// The socket and the cache in which this process runs, for other ranks of the host to compare:
/// "PACKAGE L3", each the first CPU of those that share it, -1 where the process may run outside of
/// it or it is unknown.
std::string socket_identity();
/// The same of a process with this affinity mask. `cpus`: the kernel's folder with a folder for
/// each CPU (/sys/devices/system/cpu).
std::string socket_identity(const std::string& cpus, std::string_view mask);
/// The machine with a domain for each L3 cache of a node where every rank of the node runs in one,
/// else for each package where every rank runs in one; other nodes are one domain. `identities`
/// are the ranks' socket identities, in rank order; other texts count as unknown.
Machine with_sockets(const Machine& machine, std::span<const std::string> identities);

/// A description in one line, by hwloc: packages, NUMA nodes, cores, caches.
std::string describe_topology();

/// The machine of ranks with these host identities, in rank order. Nodes are numbered in the order
/// in which they first appear.
Machine machine_from(std::span<const std::string> identities);

/// The machine of virtual nodes that WEFT_NODES asks for: a number n splits the ranks of every real
/// node into n blocks as even as can be, the larger first; any other text of Machine::parse places
/// all ranks and may only split real nodes, never join ranks of two. Domains are those of the text,
/// else the real ones. What cannot be split stays as it is: all nodes where one has fewer than n
/// ranks, and a rank alone. UsageError names WEFT_NODES, its value and what is allowed.
Machine with_virtual_nodes(const Machine& real, std::string_view setting);

}  // namespace weft::hierarchy
