// Endpoint: the rails of this node that connections use, and the memory registered with them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "verbs/connection/inbox_pool.hpp"
#include "verbs/connection/rail.hpp"
#include "verbs/connection/registration.hpp"
#include "verbs/recovery/recovery.hpp"

namespace weft::verbs {

/// One or several rails. Several threads may use it: its functions and those of the wires over it
/// lock it; what lies between (rails, lanes, connections, recovery) is used under guard().
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

  /// The adapters' keys of registered memory.
  Region region(std::uint32_t key) const noexcept;
  InboxPool& inboxes() noexcept { return inboxes_; }

  /// Passes completions to their connections. Returns their number.
  int poll() noexcept;

  /// Holds what threads share for this one.
  using Guard = std::unique_lock<std::mutex>;
  Guard guard() const noexcept { return Guard(mutex_); }
  // Under guard():
  int poll_guarded() noexcept;
  const Region& region_guarded(std::uint32_t key) const noexcept {
    return regions_[key < regions_.size() ? key : 0];
  }
  RecoveryGroup& recoveries() noexcept { return recoveries_; }
  const RecoveryGroup& recoveries() const noexcept { return recoveries_; }

  /// Called in threads of the liveness responders: see LivenessResponder::set_caretaker().
  void set_caretaker(const LivenessResponder::Caretaker& caretaker);
  /// See LivenessResponder::set_teller(). Before the first connection.
  void set_teller(const LivenessResponder::Teller& teller);
  using Answer = std::array<char, Notice::kReasonBytes>;
  /// The answers of peers' responders that have come since the last call; some at most.
  std::vector<Answer> take_answers();
  /// Under guard().
  void add_answer(const Answer& answer) noexcept;
  /// Whether connections are broken, or wires over them have not resumed since.
  bool is_mending() const noexcept {
    const Guard guard = this->guard();
    return recoveries_.recovering() != 0 || troubled() != 0;
  }
  /// Wires over broken connections, and those that have not resumed since.
  std::size_t troubled() const noexcept { return troubled_.load(std::memory_order_relaxed); }
  void add_troubled(int more) noexcept;

 private:
  friend class Registration;
  void forget_region(std::uint32_t key) noexcept;

  mutable std::mutex mutex_;
  std::atomic<std::size_t> troubled_{0};
  PortSettings settings_;
  std::vector<std::unique_ptr<Rail>> rails_;
  std::vector<std::size_t> order_;
  std::vector<Region> regions_{1};  // by key; the first stands for none
  std::vector<std::array<ibv_mr*, kMaxRails>> handles_{1};
  std::vector<std::uint32_t> free_keys_;
  static constexpr std::size_t kMostAnswers = 256;
  std::vector<Answer> answers_;
  RecoveryGroup recoveries_;
  InboxPool inboxes_{*this};  // last: what it has registered goes first
};

}  // namespace weft::verbs
