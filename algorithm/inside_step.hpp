// InsideStep: how a scheme moves blocks among the ranks of a node.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::algorithm {

/// Members first to last - 1 of a group, counted from its root around it. The first is the head of
/// the others. Subtrees are ranges, so that the blocks of a subtree lie side by side.
struct Range {
  int first = 0;
  int last = 0;

  int size() const { return last - first; }
  bool operator==(const Range&) const = default;
};

/// A shape of trees: the subtrees below the head of a range, in the order in which it serves them.
/// `radix` is for shapes that have one (gather/flat/tree.hpp).
using Topology = std::vector<Range> (*)(Range range, int radix);

/// How ranks that share a node move blocks without messages.
enum class CopyForm : std::uint8_t {
  staged,  ///< by way of stages, where a block neither lies nor is wanted in one
  direct,  ///< from and into the buffers of the caller of other ranks
};

/// A step inside nodes, by name: messages along a tree, or copies.
struct InsideStep {
  std::string_view name;
  std::string_view summary;
  Topology topology;  // nullptr: copies, as `form` says
  CopyForm form = CopyForm::staged;

  bool copies_by_stages() const { return topology == nullptr && form == CopyForm::staged; }
};

}  // namespace weft::algorithm
