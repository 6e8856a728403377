// Executions: all of an executor, by what they are at: spare, under way, done. An object is used
// again and again, so that a call allocates nothing.
#pragma once

#include <memory>
#include <vector>

#include "engine/run/execution.hpp"

namespace weft::engine {

class Executions {
 public:
  explicit Executions(Executor& executor);

  /// All have room for this program from now on.
  void make_room_for(const Program& program);
  /// One that nothing is assigned to; allocates only where all others are in use.
  Execution& spare();
  /// The one that spare() has given out last.
  Execution& last_spare() const noexcept { return *spare_.back(); }
  /// Puts that one under way, behind the others.
  void put_under_way();
  /// In the order of their calls; without the one that runs through, which is spare until it waits.
  const std::vector<std::unique_ptr<Execution>>& under_way() const noexcept { return under_way_; }
  /// Takes those that have entered and are done from those under way.
  void retire_done() noexcept;
  /// The execution is spare again, if it is done.
  bool take(const Execution& execution) noexcept;

 private:
  Executor& executor_;
  Capacity capacity_;  // for every program that was prepared
  std::uint64_t version_ = 0;
  std::vector<std::unique_ptr<Execution>> spare_;
  std::vector<std::unique_ptr<Execution>> under_way_;
  std::vector<std::unique_ptr<Execution>> done_;  // and not taken
};

}  // namespace weft::engine
