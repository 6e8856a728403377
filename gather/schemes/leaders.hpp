// Leaders: ranks that send and receive for a group of ranks of their node.
#pragma once

#include "gather/flat/tree.hpp"
#include "hierarchy/groups.hpp"

namespace weft::gather {

/// The ranks of each node in up to k groups of neighbours, by place, or by socket. The c-th groups
/// of all nodes are a column, whose leaders talk to one another. Where a node has fewer groups than
/// others, its leaders stand in for those that it lacks, with nobody to speak for.
class Leaders {
 public:
  /// The group of `root` is led by it (-1: there is none), the others by their first ranks. The
  /// machine must live longer.
  Leaders(const hierarchy::Machine& machine, int leaders, int root = -1);

  const hierarchy::Machine& machine() const { return machine_; }
  int columns() const { return columns_; }
  /// The ranks that column `column` of `node` speaks for; none where it stands in.
  std::span<const int> group(int node, int column) const;
  int leader(int node, int column) const;

  /// A team of the leaders of a column, as seen from `rank`, with one block a node; bytes, holds,
  /// source and target are up to the caller.
  Team team(int column, int rank) const;

 private:
  const hierarchy::Machine& machine_;
  const int root_;
  std::vector<std::vector<hierarchy::Group>> groups_;  // by node
  int columns_ = 1;
};

/// A team of `ranks`, as seen from `rank`, led by `root`, with one block a member; the rest is up
/// to the caller.
Team team_of(std::span<const int> ranks, int rank, int root, hierarchy::Stages& stages);

}  // namespace weft::gather
