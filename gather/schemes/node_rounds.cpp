#include "gather/schemes/node_rounds.hpp"

#include <algorithm>

#include "hierarchy/groups.hpp"

namespace weft::gather {

using hierarchy::Machine;

int NodeRounds::peer(int node, int distance, int digit) const {
  const int nodes = machine_.nodes();
  const auto ranks = machine_.ranks_on(((node + distance) % nodes + nodes) % nodes);
  return ranks[static_cast<std::size_t>(digit - 1) % ranks.size()];
}

BarrierGroup group_on_node(const Machine& machine, int rank, Ops ready) {
  const auto local = machine.ranks_on(machine.node_of(rank));
  return {{local.begin(), local.end()},
          machine.place_of(rank),
          [](int) { return true; },
          std::move(ready)};
}

namespace {

std::vector<NodeTree::Child> children_of(std::span<const int> ranks, Range own) {
  std::vector<NodeTree::Child> children;
  while (own.size() > 1) {
    const int parts = std::min(static_cast<int>(ranks.size()) + 1, own.size());
    const std::vector<int> sizes = hierarchy::even_blocks(own.size(), parts);
    int first = own.first + sizes.front();
    own.last = first;
    for (int part = 1; part < parts; ++part) {
      children.push_back({{first, first + sizes[part]}, ranks[part - 1]});
      first += sizes[part];
    }
  }
  return children;
}

}  // namespace

NodeTree find_in_node_tree(const Machine& machine, int root_node, int node) {
  const int index = (node - root_node + machine.nodes()) % machine.nodes();
  NodeTree tree;
  tree.own = {0, machine.nodes()};
  for (;;) {
    const int head = node_at(machine, root_node, tree.own.first);
    tree.children = children_of(machine.ranks_on(head), tree.own);
    if (tree.own.first == index) return tree;
    const auto next = std::ranges::find_if(tree.children, [&](const NodeTree::Child& child) {
      return child.nodes.first <= index && index < child.nodes.last;
    });
    tree.parent = tree.own.first;
    tree.sender = next->sender;
    tree.own = next->nodes;
  }
}

}  // namespace weft::gather
