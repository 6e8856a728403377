// Team: blocks that move among a group of ranks (broadcast, scatter, gather, allgather).
#pragma once

#include <functional>
#include <vector>

#include "algorithm/inside_step.hpp"
#include "base/paged.hpp"
#include "hierarchy/stages.hpp"
#include "plan/builder.hpp"

namespace weft::algorithm {

using Slices = std::vector<plan::Slice>;
using Ops = std::vector<plan::OpId>;

/// Members of a group and the blocks that move among them, seen from one member. The same type
/// serves all kinds, which differ in who holds a block at the beginning and who wants it:
///
///               blocks              holds (member, block)    target
///   broadcast   any number, as one  the root all             all but the root
///   scatter     one a member        the root all             each its own
///   gather      one a member        each its own             the root
///   allgather   one a member        each its own             all
///
/// A collective called directly is a team of all ranks, from input to output; a hierarchical scheme
/// makes teams of leaders and of the ranks of a node, on slices of stages and outputs.
///
/// All members agree on all functions, which are pure. Between nodes an algorithm asks for slices
/// of its own member only; inside a node also for those of the others.
struct Team {
  std::vector<int> members;  // ranks, each once, in the same order for all members
  int self = 0;              // index of the builder's rank in members
  int root = 0;              // index in members; broadcast, scatter, gather
  int blocks = 1;
  std::uint64_t grain = 1;  // a block is cut at multiples of so many bytes

  /// Size of a block, which may be 0.
  std::function<std::uint64_t(int block)> bytes;
  /// Whether `member` has `block` at the beginning. More than its own or the root's is allowed:
  /// what a member holds is never sent to it.
  std::function<bool(int member, int block)> holds;
  /// The blocks among which are all that `member` has at the beginning, where that can be told
  /// sooner: of thousands of blocks the others are not asked for. No function: all.
  std::function<Range(int member)> may_hold;
  /// Where a block lies that `member` holds: bytes(block) in all, in order.
  std::function<Slices(int member, int block)> source;
  /// Where `block` must end at `member`, in the same form. None: not wanted there. A member that
  /// has to pass on what it does not want keeps it in scratch; where a target is given for such a
  /// block, it is kept there instead.
  std::function<Slices(int member, int block)> target;
  /// Whether target(member, block), of a block with bytes, has any: where that can be told sooner.
  /// No function: it is asked for.
  std::function<bool(int member, int block)> wants;
  /// The ops after which source(self, block) holds its data. No function: from the beginning.
  std::function<Ops(int block)> ready;
  /// Room in the stages of the node; for teams inside a node.
  hierarchy::Stages* stages = nullptr;

  int size() const { return static_cast<int>(members.size()); }
  /// The member `distance` after `from` (before, when negative), around the group.
  int around(int from, int distance) const {
    const int member = from + distance;
    if (0 <= member && member < size()) return member;
    return (member % size() + size()) % size();
  }
  bool is_wanted(int member, int block) const {
    return wants ? wants(member, block) : !target(member, block).empty();
  }
  Ops ready_for(int block) const { return ready ? ready(block) : Ops(); }
};

/// For each block, the ops after which it is in this member's target; where it holds the block and
/// has no target, when it is ready.
using Arrived = Paged<Ops>;

/// The ops after which all blocks are there.
inline Ops joined(const Arrived& arrived) {
  Ops all;
  for (std::size_t block = 0; block < arrived.size(); ++block) {
    all.insert(all.end(), arrived[block].begin(), arrived[block].end());
  }
  return all;
}

/// For Team::wants: all members want all blocks.
inline bool wants_all(int /*member*/, int /*block*/) {
  return true;
}

/// For Team::holds: each member its own.
inline bool holds_own(int member, int block) {
  return member == block;
}

/// For Team::may_hold: the same.
inline Range may_hold_own(int member) {
  return {member, member + 1};
}

}  // namespace weft::algorithm
