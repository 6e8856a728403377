// Members: the ranks that a simulation runs, each for itself or for a class of ranks.
#pragma once

#include <vector>

#include "hierarchy/machine.hpp"

namespace weft::sim {

/// A rank that is simulated.
struct Member {
  int rank = 0;
  int node = 0;    ///< among the nodes of the members
  int weight = 1;  ///< the ranks of its node that it stands for, itself included
};

/// The ranks that are simulated, numbered from 0.
class Members {
 public:
  /// Every rank of a machine: member r is rank r, on the node that it has there.
  explicit Members(const hierarchy::Machine& machine) : nodes_(machine.nodes()) {
    list_.reserve(static_cast<std::size_t>(machine.ranks()));
    for (int rank = 0; rank < machine.ranks(); ++rank) {
      list_.push_back({rank, machine.node_of(rank), 1});
    }
  }
  /// One rank for each class of ranks; their nodes are 0 to nodes - 1.
  Members(std::vector<Member> list, int nodes)
      : list_(std::move(list)), nodes_(nodes), by_class_(true) {}

  int size() const { return static_cast<int>(list_.size()); }
  int nodes() const { return nodes_; }
  bool by_class() const { return by_class_; }
  int rank_of(int member) const { return list_[static_cast<std::size_t>(member)].rank; }
  int node_of(int member) const { return list_[static_cast<std::size_t>(member)].node; }
  int weight_of(int member) const { return list_[static_cast<std::size_t>(member)].weight; }

 private:
  std::vector<Member> list_;
  int nodes_ = 0;
  bool by_class_ = false;
};

}  // namespace weft::sim
