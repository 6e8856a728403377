// Which ports are near to a rank.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace weft::verbs {

/// The NUMA node that a device is attached to; -1 where the kernel does not say. `system` is where
/// sysfs is.
int numa_node_of_device(std::string_view device, const std::filesystem::path& system = "/sys");

/// The NUMA node on which this thread runs now; -1 when unknown.
int numa_node_of_thread() noexcept;

/// As the firmware gives it: 10 to itself, more elsewhere. 10 where either is unknown.
int numa_distance(int from, int to, const std::filesystem::path& system = "/sys");

/// Indices by distance, nearest first. Of those that are equally near the one that comes first is
/// another for each `turn`, so that the ranks of a node share them evenly.
std::vector<std::size_t> nearest_first(std::span<const int> distances, int turn);

}  // namespace weft::verbs
