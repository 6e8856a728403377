// BarrierGroup: ranks that wait for one another (barrier).
#pragma once

#include <functional>
#include <vector>

#include "algorithm/team.hpp"

namespace weft::algorithm {

/// A group at a barrier, seen from one member.
struct BarrierGroup {
  std::vector<int> members;  // ranks, each once, in the same order for all members
  int self = 0;              // index of the builder's rank in members
  /// Whether a member shares this one's node: then it is told by a signal, else by a message of one
  /// byte.
  std::function<bool(int member)> near;
  Ops ready;  // the ops after which this member may be said to have come

  int size() const { return static_cast<int>(members.size()); }
  /// The member `distance` after `from` (before, when negative), around the group.
  int around(int from, int distance) const {
    return ((from + distance) % size() + size()) % size();
  }
};

}  // namespace weft::algorithm
