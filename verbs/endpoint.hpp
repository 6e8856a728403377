// An opened device with what all connections of a communicator share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "verbs/addressing.hpp"
#include "verbs/control_path.hpp"
#include "verbs/library.hpp"

namespace weft::verbs {

class RcWire;

/// Owns a registration of memory that its maker keeps alive. Keys are 0 when empty.
class Registration {
 public:
  Registration() = default;
  Registration(const Library& library, ibv_mr* region) : library_(&library), region_(region) {}
  Registration(Registration&& other) noexcept;
  Registration& operator=(Registration&& other) noexcept;
  ~Registration() { reset(); }

  void reset() noexcept;
  explicit operator bool() const noexcept { return region_ != nullptr; }
  std::uint32_t lkey() const noexcept { return region_ == nullptr ? 0 : region_->lkey; }
  std::uint32_t rkey() const noexcept { return region_ == nullptr ? 0 : region_->rkey; }

 private:
  const Library* library_ = nullptr;
  ibv_mr* region_ = nullptr;
};

/// One port of one device: context, protection domain, completion queue. Not thread safe; each
/// communicator has its own.
class Endpoint {
 public:
  /// Opens the device that the settings name ("", "soft", or a device's name). "" takes the first
  /// device of the system with an active port, and the software device where there is none.
  /// UsageError names the setting that cannot be followed, and what there is.
  explicit Endpoint(const PortSettings& settings);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const Library& library() const { return *handles_.library; }
  bool software() const { return handles_.library->software; }
  /// "mlx5_0 port 1 (InfiniBand)".
  std::string describe() const;
  /// What its connections use of the port.
  const PortAddress& address() const { return address_; }
  const PortSettings& settings() const { return settings_; }
  std::uint8_t port() const { return port_; }
  /// How writes by peers are noticed; unknown where only a queue pair can tell.
  Placement placement() const { return placement_; }

  /// Registers memory for local use and for peers' reads and writes. SystemError names the size.
  Registration register_memory(void* address, std::size_t bytes);

  /// Hands completions to their wires. Returns how many there were.
  int poll() noexcept;

  /// What survives a connection that breaks; null where it is not to be mended.
  ControlPath* control() const { return control_.get(); }
  /// Connections that are broken, or whose channels have not taken up the new one.
  std::size_t troubled() const { return troubled_; }
  /// Connections that were made anew.
  std::uint64_t reconnections() const { return reconnections_; }

 private:
  friend class RcWire;
  void open(const Library& library, std::string_view name);
  void open_control() noexcept;

  /// Gives back what has been made so far, also when the constructor throws half-way.
  struct Handles {
    const Library* library = nullptr;
    ibv_context* context = nullptr;
    ibv_pd* domain = nullptr;
    ibv_cq* queue = nullptr;
    ~Handles();
  };
  Handles handles_;
  std::string name_;
  std::uint8_t port_ = 1;
  PortSettings settings_;
  PortAddress address_;
  Placement placement_ = Placement::unknown;
  std::unique_ptr<ControlPath> control_;
  std::size_t troubled_ = 0;
  std::uint64_t reconnections_ = 0;
  std::unordered_map<std::uint32_t, RcWire*> wires_;  // by queue pair number
};

}  // namespace weft::verbs
