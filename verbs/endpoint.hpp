// An opened device with what all connections of a communicator share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

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
  /// Opens the device that `wanted` names ("", "soft", or a device's name). "" takes the first
  /// device of the system with an active port, and the software device where there is none.
  /// UsageError names `wanted` and lists the devices there are.
  explicit Endpoint(std::string_view wanted);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const Library& library() const { return *handles_.library; }
  bool software() const { return handles_.library->software; }
  /// "mlx5_0 port 1 (InfiniBand)".
  std::string describe() const;

  /// Registers memory for local use and for peers' reads and writes. SystemError names the size.
  Registration register_memory(void* address, std::size_t bytes);

  /// Hands completions to their wires. Returns how many there were.
  int poll() noexcept;

 private:
  friend class RcWire;
  void open(const Library& library, std::string_view name);

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
  ibv_port_attr port_attributes_{};
  ibv_gid gid_{};
  int gid_index_ = 0;
  std::unordered_map<std::uint32_t, RcWire*> wires_;  // by queue pair number
};

}  // namespace weft::verbs
