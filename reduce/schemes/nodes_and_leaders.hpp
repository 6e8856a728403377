// The nodes of a machine in rank order, and the leader of each part on each node.
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

/// The leaders where each socket has one: the first of its ranks.
class SocketLeaders {
 public:
  /// None unless `leaders` is kSocketLeaders. The root (-1: there is none) leads its own socket,
  /// which comes first on its node. The machine must live longer.
  SocketLeaders(const hierarchy::Machine& machine, const Nodes& nodes, int leaders, int root = -1);

  bool are_asked_for() const { return !by_node_.empty(); }
  /// The most that any node has.
  int most() const;
  /// The leader of part `part` on a node; where a node has fewer, some lead several.
  int leader(int node, int part) const {
    const auto& here = by_node_[static_cast<std::size_t>(node)];
    return here[static_cast<std::size_t>(part) % here.size()].leader;
  }
  /// The ranks of the socket of a node; none where it has fewer.
  std::span<const int> ranks(int node, int socket) const;

 private:
  struct Socket {
    int leader;
    std::span<const int> ranks;
  };
  std::vector<std::vector<Socket>> by_node_;
};

}  // namespace weft::reduce
