// Trees in the order of the members, along which segments follow one another.
#pragma once

#include "algorithm/reduction.hpp"
#include "reduce/flat/accumulator.hpp"

namespace weft::reduce {

/// One's place in a tree where all to the left of a member stand before it, all to the right behind
/// it: whatever the root, operands stay in order. -1: none. Indices of members.
struct TreePlace {
  int parent = -1;
  int left = -1;
  int right = -1;
};

/// A line to the left and one to the right of the root.
TreePlace chain_place(int members, int root, int self);
/// Both sides of the root, and of each member below, halved.
TreePlace binary_place(int members, int root, int self);

/// Segment by segment up the tree, and where `down` each result down again to all: a segment is on
/// its way down while the next ones come up.
void pipeline(Ledger& ledger, const Reduction& reduction, const TreePlace& place,
              std::uint64_t segment_bytes, bool down);

}  // namespace weft::reduce
