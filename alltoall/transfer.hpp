// One block of an exchange, sent or received where it lies.
#pragma once

#include "alltoall/exchange.hpp"

namespace weft::alltoall {

/// The member `distance` after (before, when negative) member `from`, around the group.
inline int around(const Exchange& exchange, int from, int distance) {
  const int n = exchange.size();
  return ((from + distance) % n + n) % n;
}

/// Sends this member's block for member `to`, once it is ready and the ops in `after` are complete.
/// A block that is not one slice is packed into scratch first. kNoOp when it has no byte.
plan::OpId send_block(plan::Builder& builder, const Exchange& exchange, int to,
                      plan::After after = {});

/// Receives the block of member `from`, unpacked from scratch when its target is not one slice.
/// Returns the recv (kNoOp when there is no byte); `arrived` gets the ops after which the block is
/// in its target.
plan::OpId receive_block(plan::Builder& builder, const Exchange& exchange, int from,
                         std::vector<plan::OpId>& arrived, plan::After after = {});

/// Copies this member's block for itself.
void copy_own_block(plan::Builder& builder, const Exchange& exchange, Arrived& arrived);

/// Runs a list of exchanges with one partner at a time: each starts when the one before is done.
class Chain {
 public:
  Chain(plan::Builder& builder, const Exchange& exchange)
      : builder_(builder), exchange_(exchange), arrived_(exchange.members.size()) {}

  /// Below 0: no partner.
  void step(int to, int from);
  /// What has arrived, this member's own block included.
  Arrived finish() &&;

 private:
  plan::Builder& builder_;
  const Exchange& exchange_;
  Arrived arrived_;
  std::vector<plan::OpId> previous_;
};

}  // namespace weft::alltoall
