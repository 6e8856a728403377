// Rail: a port of this node and the objects that all queue pairs on it share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "verbs/connection/port_choice.hpp"
#include "verbs/control/control_path.hpp"
#include "verbs/control/liveness_responder.hpp"
#include "verbs/device/addressing.hpp"
#include "verbs/device/library.hpp"

namespace weft::verbs {

class RcLane;

/// Context, protection domain and completion queues of a port. Used under the guard of its
/// endpoint, but for register_memory().
class Rail {
 public:
  /// UsageError names the setting that the port cannot follow.
  Rail(OpenPort port, PortSettings settings);
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

  const Library& library() const { return *port_.library; }
  bool software() const { return port_.library->software; }
  /// "mlx5_0 port 1 (InfiniBand)".
  std::string describe() const;
  /// "mlx5_0:1".
  std::string name() const { return port_.name(); }
  /// GID, P_Key and MTU of its connections.
  const PortAddress& address() const { return address_; }
  const PortSettings& settings() const { return settings_; }
  std::uint8_t port() const { return port_.number; }
  /// "mlx5_0".
  const std::string& device() const { return port_.device; }
  /// Vendor and part numbers of ibv_query_device.
  std::uint32_t vendor() const { return vendor_; }
  std::uint32_t part() const { return part_; }
  /// The NUMA node of the device; -1 when unknown.
  int numa_node() const { return numa_node_; }
  /// The way to find arrivals; unknown where it depends on the queue pair.
  Placement placement() const { return placement_; }

  /// Registers for local use and for peers' reads and writes. Null when refused; errno says why.
  ibv_mr* register_memory(void* address, std::size_t bytes) const noexcept;

  /// Passes completions to their connections. Returns their number.
  int poll() noexcept;

  /// For the notices of recovery; null where broken connections are not recovered.
  ControlPath* control() const { return control_.get(); }
  /// Waits until all notices have left, but not for long, and not again where they did not.
  void flush_notices() noexcept;
  /// Null where there is none.
  LivenessResponder* responder() const { return responder_.get(); }
  void stop_responder() noexcept { responder_.reset(); }
  /// Queue pairs of connections, and the bytes that were posted to them.
  std::size_t pairs() const { return lanes_.size(); }
  std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  friend class RcLane;
  void open_control() noexcept;
  int poll(ibv_cq* queue) noexcept;

  // Completion queues: a lane gets a place in one for each completion that it may cause, so none
  // overflows. There is another one, of twice the size, when the last is full.
  struct Queue {
    ibv_cq* handle = nullptr;
    int entries = 0;
    int taken = 0;
  };
  void add_queue(int least);
  /// Room for so many completions. Error where the device's queues are too small, SystemError when
  /// it refuses another one.
  ibv_cq* take_room(int completions);
  void give_room(const ibv_cq* queue, int completions) noexcept;

  /// Frees what has been created, also when the constructor throws half-way.
  struct Handles {
    const Library* library = nullptr;
    ibv_pd* domain = nullptr;
    std::vector<Queue> queues;
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
  int most_entries_ = 0;  // of a completion queue
  std::unique_ptr<ControlPath> control_;
  std::unique_ptr<LivenessResponder> responder_;
  bool is_stuck_ = false;  // notices do not leave
  std::uint64_t sent_bytes_ = 0;
  std::unordered_map<std::uint32_t, RcLane*> lanes_;  // by queue pair number
};

}  // namespace weft::verbs
