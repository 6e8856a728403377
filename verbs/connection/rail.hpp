// One port of one device, opened: what all queue pairs on it share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "verbs/control/control_path.hpp"
#include "verbs/control/presence.hpp"
#include "verbs/device/addressing.hpp"
#include "verbs/device/library.hpp"

namespace weft::verbs {

class RcLane;

/// A port that carries traffic, as it was found. Ports of a device share its context.
struct OpenPort {
  const Library* library = nullptr;
  std::string device;
  std::shared_ptr<ibv_context> context;
  std::uint8_t number = 1;
  ibv_port_attr attributes{};

  /// "mlx5_0:1".
  std::string name() const;
  /// Whether messages may be spread over both: the same kind of fabric, equally fast.
  bool is_like(const OpenPort& other) const noexcept;
};

/// Context, protection domain and completion queue of a port. Not thread safe; each communicator
/// has its own.
class Rail {
 public:
  /// UsageError names the setting that the port cannot follow.
  Rail(OpenPort port, const PortSettings& settings);
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

  const Library& library() const { return *port_.library; }
  bool software() const { return port_.library->software; }
  /// "mlx5_0 port 1 (InfiniBand)".
  std::string describe() const;
  /// "mlx5_0:1".
  std::string name() const { return port_.name(); }
  /// What its connections use of the port.
  const PortAddress& address() const { return address_; }
  const PortSettings& settings() const { return settings_; }
  std::uint8_t port() const { return port_.number; }
  /// "mlx5_0".
  const std::string& device() const { return port_.device; }
  /// What ibv_query_device says of it.
  std::uint32_t vendor() const { return vendor_; }
  std::uint32_t part() const { return part_; }
  /// Of the device; -1 where the machine does not say.
  int numa_node() const { return numa_node_; }
  /// How writes by peers are noticed; unknown where only a queue pair can tell.
  Placement placement() const { return placement_; }

  /// For local use and for peers' reads and writes. Null when refused; errno says why.
  ibv_mr* register_memory(void* address, std::size_t bytes) noexcept;

  /// Hands completions to their wires. Returns how many there were.
  int poll() noexcept;

  /// What survives a connection that breaks; null where it is not to be mended.
  ControlPath* control() const { return control_.get(); }
  /// What answers for this rank while it is in no call; null where nothing does.
  Presence* presence() const { return presence_.get(); }
  /// Nothing answers for it any more.
  void fall_silent() noexcept { presence_.reset(); }
  /// Queue pairs of connections, and the bytes that they were given to send.
  std::size_t pairs() const { return lanes_.size(); }
  std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  friend class RcLane;
  void open_control() noexcept;

  /// Gives back what has been made so far, also when the constructor throws half-way.
  struct Handles {
    const Library* library = nullptr;
    ibv_pd* domain = nullptr;
    ibv_cq* queue = nullptr;
    ~Handles();
  };
  OpenPort port_;
  PortSettings settings_;
  Handles handles_;
  PortAddress address_;
  int numa_node_ = -1;
  std::uint32_t vendor_ = 0;
  std::uint32_t part_ = 0;
  Placement placement_ = Placement::unknown;
  std::unique_ptr<ControlPath> control_;
  std::unique_ptr<Presence> presence_;
  std::uint64_t sent_bytes_ = 0;
  std::unordered_map<std::uint32_t, RcLane*> lanes_;  // by queue pair number
};

}  // namespace weft::verbs
