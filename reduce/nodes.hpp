// The nodes of a machine in rank order, and who leads what on each.
#pragma once

#include <span>
#include <vector>

#include "hierarchy/machine.hpp"

namespace weft::reduce {

/// Nodes in the order of their first ranks, as `rank` sees them: where the ranks of each follow one
/// another, that is the order of all ranks.
class Nodes {
 public:
  /// The machine must live longer.
  Nodes(const hierarchy::Machine& machine, int rank);

  int count() const { return static_cast<int>(nodes_.size()); }
  /// The index of the rank's own node.
  int own() const { return own_; }
  std::span<const int> ranks(int index) const { return nodes_[static_cast<std::size_t>(index)]; }
  std::span<const int> own_ranks() const { return ranks(own_); }
  /// The ranks of the own node but the rank itself, beginning behind it.
  std::vector<int> peers() const;
  int place() const { return place_; }
  int index_of_node_of(int rank) const;
  int widest() const;
  int narrowest() const;

  /// Whether the ranks of each node follow one another.
  bool are_runs() const;

 private:
  const hierarchy::Machine& machine_;
  std::vector<std::span<const int>> nodes_;
  std::vector<int> index_of_node_;
  int own_ = 0;
  int place_ = 0;
};

}  // namespace weft::reduce
