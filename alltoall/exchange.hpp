// What a flat alltoall algorithm works on: one complete exchange among the members of a group.
#pragma once

#include <functional>
#include <vector>

#include "plan/builder.hpp"

namespace weft::alltoall {

/// A complete exchange among a group, seen from one member. Every member i has a block for every
/// member j, of bytes(i, j) bytes: a number that all members agree on, and that may be 0. A flat
/// algorithm called directly exchanges among all ranks, block_bytes each, from input to output. A
/// hierarchical scheme uses the same algorithm between nodes, on aggregated blocks in stages.
struct Exchange {
  std::vector<int> members;  // ranks, each once, in the same order for all members
  int self = 0;              // index of the builder's rank in members

  /// Size of the block from member `from` to member `to`, both as indices into members.
  std::function<std::uint64_t(int from, int to)> bytes;
  /// Where the block for member `to` lies here: slices of this rank's own spaces, in order,
  /// bytes(self, to) in all.
  std::function<std::vector<plan::Slice>(int to)> source;
  /// Where the block of member `from` must end here, likewise.
  std::function<std::vector<plan::Slice>(int from)> target;
  /// The ops after which source(to) holds its data. No function, or no op: from the beginning.
  std::function<std::vector<plan::OpId>(int to)> ready;

  int size() const { return static_cast<int>(members.size()); }
  std::vector<plan::OpId> ready_for(int to) const {
    return ready ? ready(to) : std::vector<plan::OpId>();
  }
};

/// For each member, the ops after which its block has arrived in target(from).
using Arrived = std::vector<std::vector<plan::OpId>>;

}  // namespace weft::alltoall
