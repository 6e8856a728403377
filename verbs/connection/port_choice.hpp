// Port choice: the ports of this node that connections use, and their distances from this thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbs/device/library.hpp"
#include "verbs/device/port_settings.hpp"

namespace weft::verbs {

/// An active port of an opened device. Ports of a device share its context.
struct OpenPort {
  const Library* library = nullptr;
  std::string device;
  std::shared_ptr<ibv_context> context;
  std::uint8_t number = 1;
  ibv_port_attr attributes{};

  /// "mlx5_0:1".
  std::string name() const;
  /// True if messages may be spread over both ports: same kind of fabric, same rate.
  bool is_like(const OpenPort& other) const noexcept;
};

/// The ports that the settings name, in that order. Without names: of the system's devices the
/// first active port and those like it, at most kMaxRails, in the order of the library; without
/// such the software device's. The i-th ports of two nodes are connected: nodes that are built
/// alike have the same order. UsageError names the missing device or port and lists those that
/// exist.
std::vector<OpenPort> choose_ports(const PortSettings& settings);

/// The NUMA node that a device is attached to; -1 when unknown. `system`: where sysfs is mounted.
int numa_node_of_device(std::string_view device, const std::string& system = "/sys");

/// The NUMA node on which this thread runs now; -1 when unknown.
int numa_node_of_thread() noexcept;

/// The firmware's distance of two NUMA nodes: 10 from a node to itself, else more. 10 where either
/// is unknown.
int numa_distance(int from, int to, const std::string& system = "/sys");

/// Indices by distance, nearest first. Among the nearest the order is rotated by `turn`, so that
/// the ranks of a node share them evenly.
std::vector<std::size_t> nearest_first(std::span<const int> distances, int turn);

}  // namespace weft::verbs
