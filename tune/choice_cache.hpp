// Choice cache: simulated choices for one machine and adapter, made when a size is new, then
// remembered.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "hierarchy/machine.hpp"
#include "plan/problem.hpp"
#include "sim/hardware.hpp"
#include "tune/facts.hpp"
#include "tune/slot_choice.hpp"

namespace weft::tune {

/// Default of the time from one rank's turn on a shared core to the next rank's: a yield to another
/// process on a processor of today.
inline constexpr double kUsualSwitch_ns = 1300;

/// The machine, adapter and settings from which simulated choices follow.
struct Basis {
  hierarchy::Machine machine;
  sim::Hardware hardware;
  Direct direct = Direct::none;
  bool deterministic = false;
  bool crowded = false;

  Facts facts() const { return {machine, direct, deterministic, crowded}; }
};

/// Remembers choices. Safe to use from several threads.
class ChoiceCache {
 public:
  /// Budget of a choice, in ops that it may simulate: 0.2 s at 512 ranks. See docs/decisions.md.
  static constexpr std::uint64_t kMostOps = 1 << 18;

  explicit ChoiceCache(Basis basis) : basis_(std::move(basis)) {}

  /// The fastest for a problem of about this size (grid_bytes()), rooted at rank 0 and with equal
  /// blocks, of those that may run for the problem itself; nullopt where none of the candidates
  /// may, and for alltoallv. The same basis gives the same in every process.
  std::optional<Algorithm> choose(const plan::Problem& problem);
  /// Of alltoallvs that are done by `base` without slots.
  SlotChoice slots(const Algorithm& base);

 private:
  /// Collective, bytes, of an element, what the operation allows.
  using Key = std::tuple<plan::Collective, std::uint64_t, std::uint64_t, int>;

  Basis basis_;
  std::mutex mutex_;
  std::map<Key, std::vector<Algorithm>> known_;  // the fastest first
  std::map<std::string, SlotChoice> slots_;      // by the base's name
};

/// The cache of this process for a basis, which `text` identifies and `make` makes where it is new.
/// Programs make many communicators of one shape: they share a cache.
std::shared_ptr<ChoiceCache> shared_choices(const std::string& text,
                                            const std::function<Basis()>& make);

}  // namespace weft::tune
