// The machine: which rank runs where.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::hierarchy {

/// Which rank is on which node. Any placement: uneven, interleaved, nodes of one rank. A value.
///
/// Nodes are numbered 0 to nodes()-1 without gaps. The *place* of a rank is its position among the
/// ranks of its node in ascending order (the paper's "shared memory rank").
class Machine {
 public:
  /// `node_of_rank[r]` is the node of rank r. UsageError when empty, or when nodes have gaps.
  explicit Machine(std::vector<int> node_of_rank);

  /// Ranks in blocks: node 0 has the first ppn ranks, and so on.
  static Machine uniform(int nodes, int ppn);
  /// Ranks dealt out in turn: rank r is on node r % nodes.
  static Machine cyclic(int nodes, int ppn);
  /// Blocks of different sizes, each at least 1.
  static Machine uneven(std::span<const int> ranks_per_node);

  /// Reads "3x4" (3 nodes of 4, in blocks), "3x4:cyclic", "1+3+4" (blocks), or "0,1,0,1" (the node
  /// of each rank). UsageError names the text and these forms.
  static Machine parse(std::string_view text);

  int ranks() const { return static_cast<int>(node_of_rank_.size()); }
  int nodes() const { return static_cast<int>(first_.size()) - 1; }
  int node_of(int rank) const { return node_of_rank_[rank]; }
  int place_of(int rank) const { return place_of_rank_[rank]; }
  /// The ranks of a node, ascending: the one at index i has place i.
  std::span<const int> ranks_on(int node) const {
    return std::span(by_node_).subspan(first_[node], first_[node + 1] - first_[node]);
  }
  int ranks_on_node_of(int rank) const { return static_cast<int>(ranks_on(node_of(rank)).size()); }
  bool same_node(int a, int b) const { return node_of(a) == node_of(b); }
  /// The most ranks that any node has.
  int widest() const;
  std::span<const int> node_of_rank() const { return node_of_rank_; }

  /// The machine as a communicator of `members` sees it: its rank i is rank members[i] here, its
  /// nodes are numbered in the order in which they first appear.
  Machine view(std::span<const int> members) const;

  bool operator==(const Machine& other) const { return node_of_rank_ == other.node_of_rank_; }

 private:
  std::vector<int> node_of_rank_;
  std::vector<int> place_of_rank_;
  std::vector<int> by_node_;        // ranks, node after node
  std::vector<std::size_t> first_;  // where each node begins in by_node_
};

/// The shortest of the forms that parse() reads.
std::string to_string(const Machine& machine);

}  // namespace weft::hierarchy
