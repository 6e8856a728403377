// Exchange: each member of a group has a block for each other member (alltoall).
#pragma once

#include <functional>
#include <vector>

#include "plan/builder.hpp"

namespace weft::algorithm {

/// A complete exchange among a group, seen from one member. Every member i has a block for every
/// member j, of bytes(i, j) bytes: a number that both agree on, and that may be 0. A flat algorithm
/// called directly exchanges among all ranks, from input to output. A hierarchical scheme uses the
/// same algorithm between nodes, on aggregated blocks in stages.
struct Exchange {
  std::vector<int> members;  // ranks, each once, in the same order for all members
  int self = 0;              // index of the builder's rank in members

  /// Size of the block from member `from` to member `to`, both as indices into members. One of them
  /// is this member, unless the algorithm passes on blocks of others (FlatForm::forwards).
  std::function<std::uint64_t(int from, int to)> bytes;
  /// Appends where the block for member `to` lies here: slices of this rank's own spaces, in order,
  /// bytes(self, to) in all.
  std::function<void(int to, std::vector<plan::Slice>& slices)> source;
  /// Appends where the block of member `from` must end here, in the same form.
  std::function<void(int from, std::vector<plan::Slice>& slices)> target;
  /// Not 0: blocks for other members are of whole slots of so many bytes (FlatForm::in_slots).
  /// Each slice of a source or target then begins at a slot of its own, and what is left of its
  /// last slot has no meaning; an empty one stands for a slot without meaning.
  std::uint64_t slot = 0;
  /// Appends the ops after which the source for member `to` holds its data. No function, or no op:
  /// from the beginning.
  std::function<void(int to, std::vector<plan::OpId>& ops)> ready = {};
  /// Appends the ops after which the target of member `from` may be written. No function, or no op:
  /// from the beginning. They must not follow any message.
  std::function<void(int from, std::vector<plan::OpId>& ops)> vacated = {};

  int size() const { return static_cast<int>(members.size()); }
};

}  // namespace weft::algorithm
