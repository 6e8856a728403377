// Holder: a member of a team that comes to have its blocks.
#pragma once

#include <span>

#include "gather/flat/tree.hpp"

namespace weft::gather {

/// Sends and receives lists of blocks where they lie, and keeps track of where that is and of the
/// ops after which they are there. Messages have no blocks that the receiver holds from the
/// beginning, and none without bytes; a message without blocks is none.
class Holder {
 public:
  /// The arguments must live longer.
  Holder(plan::Builder& builder, const Team& team);

  /// One message of `blocks`, which this member has; from where they lie if that is one slice, else
  /// packed in scratch.
  void send(int to, std::span<const int> blocks);

  /// One message of `blocks`, into their targets if those are one slice, else by way of scratch.
  void receive(int from, std::span<const int> blocks);

  /// Gives room in scratch to those of `blocks` that have no target, side by side.
  void keep(std::span<const int> blocks);

  /// Copies a block that this member holds to its target; sends that follow take it from there.
  void settle(int block);

  /// Settles what is left, and says what has arrived when.
  Arrived finish() &&;

 private:
  struct State {
    Slices place;  // where sends take it from, once this member has it
    Ops ready;     // and after which ops
    Slices kept;   // in place of a target
    Ops arrived;   // in the target
    bool has = false;
    bool settled = false;
  };

  Slices target(int block) const;
  std::vector<int> missing(int member, std::span<const int> blocks) const;
  State& state_of(int block) { return states_[static_cast<std::size_t>(block)]; }
  const State& state_of(int block) const { return states_[static_cast<std::size_t>(block)]; }
  State& load(int block);
  Ops pack(const plan::Slice& packed, std::span<const plan::Slice> slices,
           std::span<const int> blocks);

  plan::Builder& builder_;
  const Team& team_;
  Paged<State> states_;  // by block
};

/// `first`, `first` + 1, ... `count` blocks, around the group.
std::vector<int> run_of(const Team& team, int first, int count);
/// All blocks in order.
std::vector<int> all_of(const Team& team);

}  // namespace weft::gather
