// One block of an exchange, sent or received where it lies.
#pragma once

#include <array>
#include <utility>

#include "algorithm/exchange.hpp"
#include "algorithm/team.hpp"

namespace weft::alltoall {

using algorithm::Exchange;
/// The ops after which all blocks have arrived in their targets.
using Arrived = algorithm::Ops;

/// The member `distance` after (before, when negative) member `from`, around the group.
inline int around(const Exchange& exchange, int from, int distance) {
  const int n = exchange.size();
  return ((from + distance) % n + n) % n;
}

/// The blocks of one exchange, sent and received one by one.
class Transfers {
 public:
  /// The arguments must live longer.
  Transfers(plan::Builder& builder, const Exchange& exchange)
      : builder_(builder), exchange_(exchange) {}

  /// Sends this member's block for member `to`, once it is ready and the ops in `after` are
  /// complete. A block that is not one slice is packed into scratch first. kNoOp when it has no
  /// byte.
  plan::OpId send(int to, plan::After after = {});
  /// Receives the block of member `from`, unpacked from scratch when its target is not one slice.
  /// Returns the recv (kNoOp when there is no byte).
  plan::OpId receive(int from, plan::After after = {});
  /// Copies this member's block for itself. The end: what has arrived.
  Arrived finish() &&;

 private:
  plan::Builder& builder_;
  const Exchange& exchange_;
  Arrived arrived_;
  // Of the block at hand.
  std::vector<plan::Slice> slices_;
  std::vector<plan::OpId> ops_;
  std::vector<plan::OpId> copies_;
};

/// Runs a list of exchanges with one partner at a time: each starts when the one before is done.
class Chain {
 public:
  Chain(plan::Builder& builder, const Exchange& exchange) : transfers_(builder, exchange) {}

  /// Below 0: no partner.
  void step(int to, int from);
  Arrived finish() && { return std::move(transfers_).finish(); }

 private:
  Transfers transfers_;
  std::array<plan::OpId, 2> previous_ = {plan::kNoOp, plan::kNoOp};
};

}  // namespace weft::alltoall
