// Endpoint: the rails of this node that a communicator's connections use, and the memory registered
// with them.
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
#include "verbs/recovery/recovery.hpp"

namespace weft::verbs {

class Endpoint;

/// Owns a registration of memory with every rail of an endpoint. Memory and endpoint must outlive
/// it.
class Registration {
 public:
  Registration() = default;
  Registration(Endpoint& endpoint, std::uint32_t key) : endpoint_(&endpoint), key_(key) {}
  Registration(Registration&& other) noexcept;
  Registration& operator=(Registration&& other) noexcept;
  ~Registration() { reset(); }

  void reset() noexcept;
  explicit operator bool() const noexcept { return key_ != 0; }
  /// The endpoint's key of it, the same for local and remote use; 0 when empty. The adapters' own
  /// keys differ from rail to rail: Endpoint::region() has them.
  std::uint32_t lkey() const noexcept { return key_; }
  std::uint32_t rkey() const noexcept { return key_; }

 private:
  Endpoint* endpoint_ = nullptr;
  std::uint32_t key_ = 0;
};

/// One or several rails. Not thread safe; each communicator has its own.
class Endpoint {
 public:
  /// Opens the ports that choose_ports() returns. Of rails that are equally near, `turn` chooses
  /// the rail of small messages. UsageError names the setting that cannot be followed, and the
  /// devices or ports that exist.
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

  /// Passes completions to their wires. Returns their number.
  int poll() noexcept;

  RecoveryGroup& recoveries() noexcept { return recoveries_; }
  const RecoveryGroup& recoveries() const noexcept { return recoveries_; }

 private:
  friend class Registration;
  void forget_region(std::uint32_t key) noexcept;

  PortSettings settings_;
  std::vector<std::unique_ptr<Rail>> rails_;
  std::vector<std::size_t> order_;
  std::vector<Region> regions_{1};  // by key; the first stands for none
  std::vector<std::array<ibv_mr*, kMaxRails>> handles_{1};
  std::vector<std::uint32_t> free_keys_;
  RecoveryGroup recoveries_;
};

}  // namespace weft::verbs
