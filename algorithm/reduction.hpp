// Reduction: vectors of a group of ranks that are combined by an operation.
#pragma once

#include <vector>

#include "plan/problem.hpp"
#include "plan/slice.hpp"

namespace weft::algorithm {

/// A reduction among a group, seen from one member. A flat algorithm called directly reduces over
/// all ranks, from input to output; a hierarchical scheme uses the same between nodes, on vectors
/// in stages. The operands stand in the order of the members.
struct Reduction {
  std::vector<int> members;  // ranks, each once, in the same order for all members
  int self = 0;              // index of the builder's rank in members
  int root = 0;              // reduce: index of the member that gets the result

  std::uint64_t bytes = 0;  // of the vector, whole elements; more than 0
  std::uint64_t grain = 1;  // it is cut at multiples of so many bytes: whole elements
  bool commutative = true;
  /// reduce_scatter: the block of the vector that each member gets, side by side in the order of
  /// the members unless the algorithm says that it takes any.
  std::vector<plan::Block> blocks = {};

  plan::Slice source;  // this member's vector, in its own memory; only read
  plan::Slice target;  // where its result goes, apart from the source; empty where it gets none

  int size() const { return static_cast<int>(members.size()); }
  int member(int index) const { return members[static_cast<std::size_t>(index)]; }
  bool is_root() const { return self == root; }
  const plan::Block& block(int index) const { return blocks[static_cast<std::size_t>(index)]; }
};

}  // namespace weft::algorithm
