// Partners of a rank in schemes in which every rank of a node talks to the network for all of it.
#pragma once

#include "gather/flat/barriers.hpp"
#include "hierarchy/machine.hpp"

namespace weft::gather {

/// Rounds among nodes in which what a node has grows by the factor radix(), one more than the ranks
/// of the widest node: in the round of weight w each node deals with those at the distances d w for
/// d = 1 .. radix - 1, and its rank d - 1 does so for d; a narrower node's ranks take several.
class NodeRounds {
 public:
  explicit NodeRounds(const hierarchy::Machine& machine) : machine_(machine) {}

  int radix() const { return machine_.widest() + 1; }
  /// The rank of the node `distance` after `node` (before, when negative) that deals with `digit`.
  int peer(int node, int distance, int digit) const;

  /// Calls `act(digit, distance, count)` for the digits of a round that `rank` deals with: the node
  /// at `distance` after its own has `count` nodes' worth that this one lacks.
  template <class Act>
  void for_each_of(int rank, int weight, const Act& act) const {
    const int width = machine_.ranks_on_node_of(rank);
    for (int digit = machine_.place_of(rank) + 1; digit < radix(); digit += width) {
      const std::int64_t distance = static_cast<std::int64_t>(digit) * weight;
      if (distance >= machine_.nodes()) break;
      const int at = static_cast<int>(distance);
      act(digit, at, std::min(weight, machine_.nodes() - at));
    }
  }

 private:
  const hierarchy::Machine& machine_;
};

/// The ranks of one node, to meet when `ready`.
BarrierGroup group_on_node(const hierarchy::Machine& machine, int rank, Ops ready);

/// A tree of nodes, counted from the root's: a node of P ranks splits what it heads into P + 1 even
/// parts, keeps the first, and its rank i sends to the head of part i + 1; so again with what it
/// kept.
struct NodeTree {
  struct Child {
    Range nodes;  // the first is the head
    int sender;   // a rank of this node
  };
  Range own;
  int parent = -1;  // counted from the root's node; the root's has none
  int sender = -1;  // the rank of the parent that sends to this node
  std::vector<Child> children;
};

NodeTree find_in_node_tree(const hierarchy::Machine& machine, int root_node, int node);

/// The node at place `index` counted from the root's.
inline int node_at(const hierarchy::Machine& machine, int root_node, int index) {
  return (root_node + index) % machine.nodes();
}

}  // namespace weft::gather
