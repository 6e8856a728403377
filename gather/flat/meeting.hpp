// Barriers among a group of ranks, as fragments.
#pragma once

#include <functional>

#include "gather/flat/tree.hpp"

namespace weft::gather {

/// Members that wait for one another, seen from one of them.
struct Meeting {
  std::vector<int> members;  // ranks, each once, in the same order for all members
  int self = 0;              // index of the builder's rank in members
  /// Whether a member shares the node: told by a signal, else by a message of one byte.
  std::function<bool(int member)> near;
  Ops ready;  // the ops that this member's coming must follow

  int size() const { return static_cast<int>(members.size()); }
  int around(int from, int distance) const {
    return ((from + distance) % size() + size()) % size();
  }
};

/// Notes of a meeting.
class Notes {
 public:
  /// The arguments must live longer.
  Notes(plan::Builder& builder, const Meeting& meeting) : builder_(builder), meeting_(meeting) {}

  void tell(int member, plan::After after);
  plan::OpId hear(int member);

 private:
  plan::Builder& builder_;
  const Meeting& meeting_;
  plan::Slice byte_;
};

/// Each returns the ops after which all members have come. Notes come in any order, so those that
/// a member awaits follow nothing.
Ops ring_barrier(plan::Builder& builder, const Meeting& meeting);
Ops dissemination_barrier(plan::Builder& builder, const Meeting& meeting, int radix = 2);
Ops tournament_barrier(plan::Builder& builder, const Meeting& meeting);
/// What is done where the first member knows that all have come, before it lets the others go.
using Between = std::function<Ops(const Ops& all_are_here)>;
Ops tree_barrier(plan::Builder& builder, const Meeting& meeting, Topology topology, int radix = 2,
                 const Between& between = {});

}  // namespace weft::gather
