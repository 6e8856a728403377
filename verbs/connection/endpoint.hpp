// The ports of this node that a communicator's connections use, and the memory registered with
// them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verbs/channel/wire.hpp"
#include "verbs/connection/rail.hpp"

namespace weft::verbs {

class Endpoint;
class RcWire;

/// Owns a registration of memory that its maker keeps alive, with every rail of an endpoint that it
/// does not outlive.
class Registration {
 public:
  Registration() = default;
  Registration(Endpoint& endpoint, std::uint32_t key) : endpoint_(&endpoint), key_(key) {}
  Registration(Registration&& other) noexcept;
  Registration& operator=(Registration&& other) noexcept;
  ~Registration() { reset(); }

  void reset() noexcept;
  explicit operator bool() const noexcept { return key_ != 0; }
  /// The endpoint's name for it, for local and for remote use alike; 0 when empty. The adapters'
  /// own keys differ from rail to rail: Endpoint::region() has them.
  std::uint32_t lkey() const noexcept { return key_; }
  std::uint32_t rkey() const noexcept { return key_; }

 private:
  Endpoint* endpoint_ = nullptr;
  std::uint32_t key_ = 0;
};

/// One or several rails. Not thread safe; each communicator has its own.
class Endpoint {
 public:
  /// Opens the ports that the settings name. Without a name: of the system's devices the first
  /// active port and those like it, kMaxRails at the most; the software device where there is
  /// none. Of rails that are equally near, `turn` says which one small messages take.
  /// UsageError names the setting that cannot be followed, and what there is.
  explicit Endpoint(const PortSettings& settings, int turn = 0);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  std::span<const std::unique_ptr<Rail>> rails() const { return rails_; }
  /// Indices of the rails, the nearest first.
  std::span<const std::size_t> nearest_first() const { return order_; }
  const PortSettings& settings() const { return settings_; }
  /// "mlx5_0 port 1 (InfiniBand), mlx5_1 port 1 (InfiniBand)".
  std::string describe() const;

  /// Registers memory for local use and for peers' reads and writes. SystemError names the size and
  /// the rail that refused.
  Registration register_memory(void* address, std::size_t bytes);

  /// The adapters' keys of registered memory, by rail; 0 where there is none.
  struct Region {
    std::array<std::uint32_t, kMaxRails> lkeys{};
    RemoteKeys rkeys{};
  };
  const Region& region(std::uint32_t key) const noexcept;

  /// Hands completions to their wires. Returns how many there were.
  int poll() noexcept;

  /// Connections that are broken, or whose channels have not taken up the new one.
  std::size_t troubled() const { return troubled_; }
  /// Connections that work, but not on all of their rails.
  std::size_t limping() const { return limping_; }
  /// Connections that were made anew.
  std::uint64_t reconnections() const { return reconnections_; }

 private:
  friend class RcWire;
  friend class Registration;
  void forget_region(std::uint32_t key) noexcept;

  PortSettings settings_;
  std::vector<std::unique_ptr<Rail>> rails_;
  std::vector<std::size_t> order_;
  std::vector<Region> regions_{1};  // by key; the first stands for none
  std::vector<std::array<ibv_mr*, kMaxRails>> handles_{1};
  std::vector<std::uint32_t> free_keys_;
  std::size_t troubled_ = 0;
  std::size_t limping_ = 0;
  std::uint64_t reconnections_ = 0;
  std::vector<RcWire*> wires_;
};

}  // namespace weft::verbs
