// The choices of a communicator: made when a size is new, then remembered.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"
#include "sim/hardware.hpp"
#include "tune/algorithm.hpp"

namespace weft::tune {

/// From one rank's turn on a core to the next one's, where nobody has measured it: a yield to
/// another process on a processor of today.
inline constexpr double kUsualSwitch_ns = 1300;

/// What choices rest on.
struct Basis {
  hierarchy::Machine machine;
  sim::Hardware hardware;
  Direct direct = Direct::none;
  bool deterministic = false;
  bool crowded = false;

  Facts facts() const { return {machine, direct, deterministic, crowded}; }
};

/// Remembers choices. Safe to use from several threads.
class Chooser {
 public:
  /// What a choice may simulate, in ops: 0.2 s at 512 ranks. See docs/decisions.md.
  static constexpr std::uint64_t kMostOps = 1 << 18;

  explicit Chooser(Basis basis) : basis_(std::move(basis)) {}

  /// The fastest for a problem of about this size (grid_bytes()), rooted at rank 0 and with equal
  /// blocks, of those that may run for the problem itself; nullopt where none of the candidates
  /// may, and for alltoallv. The same basis gives the same in every process.
  std::optional<Algorithm> choose(const plan::Problem& problem);

 private:
  /// Collective, bytes, of an element, what the operation allows.
  using Key = std::tuple<plan::Collective, std::uint64_t, std::uint64_t, int>;

  Basis basis_;
  std::mutex mutex_;
  std::map<Key, std::vector<Algorithm>> known_;  // the fastest first
};

/// The one of this process for that basis, which `text` tells from others: communicators of one
/// shape, as programs make many of, share what they know.
std::shared_ptr<Chooser> shared_chooser(const std::string& text, const Basis& basis);

}  // namespace weft::tune
