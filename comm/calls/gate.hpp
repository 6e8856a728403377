// Gate: a barrier before ranks agree on something new in the middle of a communicator's life.
//
// Ranks wait in the bootstrap without a look at one another. Where one of them prepares a call and
// another one runs a call that it knows, the first would wait there for ever. So before they enter
// the bootstrap all ranks run this barrier, whose signals and messages are told apart from those of
// any other call: what does not fit together is found there, by those who wait in the barrier and
// by those who wait in the other call. A rank that leaves the barrier knows that all have entered.
#pragma once

#include <optional>
#include <vector>

#include "comm/setup/resources.hpp"

namespace weft::comm {

class Gate {
 public:
  explicit Gate(Resources& resources);

  bool is_made() const noexcept { return barrier_.has_value(); }
  /// Before it is made: the plan of this rank's part, which needs channels to its peers and scratch
  /// memory.
  const plan::Plan& plan() const noexcept { return plan_; }
  /// Once there are channels, and scratch memory for it. All ranks at the same time.
  void make();

  /// Waits until all ranks are about to prepare `problem`, of which each may know its own part only
  /// if it `is_irregular`. CallError where they are not.
  void pass(const plan::Problem& problem, bool is_irregular);

 private:
  Resources& resources_;
  plan::Plan plan_;
  std::optional<engine::Prepared> barrier_;
};

}  // namespace weft::comm
