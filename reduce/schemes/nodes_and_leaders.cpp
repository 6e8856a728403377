#include "reduce/schemes/nodes_and_leaders.hpp"

#include <algorithm>

#include "hierarchy/groups.hpp"

namespace weft::reduce {

namespace {

int size_of(std::span<const int> ranks) {
  return static_cast<int>(ranks.size());
}

}  // namespace

Nodes::Nodes(const hierarchy::Machine& machine, int rank)
    : machine_(machine), index_of_node_(static_cast<std::size_t>(machine.nodes())) {
  for (int node = 0; node < machine.nodes(); ++node) nodes_.push_back(machine.ranks_on(node));
  std::ranges::sort(nodes_, {}, [](std::span<const int> ranks) { return ranks.front(); });
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    const int node = machine.node_of(nodes_[index].front());
    index_of_node_[static_cast<std::size_t>(node)] = static_cast<int>(index);
  }
  own_ = index_of_node_of(rank);
  place_ = machine.place_of(rank);
}

std::vector<int> Nodes::peers() const {
  std::vector<int> peers;
  const auto ranks = own_ranks();
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    peers.push_back(ranks[(static_cast<std::size_t>(place_) + i) % ranks.size()]);
  }
  return peers;
}

int Nodes::index_of_node_of(int rank) const {
  return index_of_node_[static_cast<std::size_t>(machine_.node_of(rank))];
}

int Nodes::widest() const {
  return size_of(std::ranges::max(nodes_, {}, size_of));
}

int Nodes::narrowest() const {
  return size_of(std::ranges::min(nodes_, {}, size_of));
}

bool Nodes::are_runs() const {
  return std::ranges::all_of(nodes_, [](std::span<const int> ranks) {
    return ranks.back() - ranks.front() + 1 == size_of(ranks);
  });
}

SocketLeaders::SocketLeaders(const hierarchy::Machine& machine, const Nodes& nodes, int leaders,
                             int root) {
  if (leaders != hierarchy::kSocketLeaders) return;
  by_node_.resize(static_cast<std::size_t>(nodes.count()));
  for (const hierarchy::Group& group : hierarchy::groups(machine, leaders)) {
    auto& here = by_node_[static_cast<std::size_t>(nodes.index_of_node_of(group.leader()))];
    if (root >= 0 && std::ranges::binary_search(group.ranks, root)) {
      here.insert(here.begin(), {root, group.ranks});
    } else {
      here.push_back({group.leader(), group.ranks});
    }
  }
}

int SocketLeaders::most() const {
  std::size_t most = 0;
  for (const auto& sockets : by_node_) most = std::max(most, sockets.size());
  return static_cast<int>(most);
}

std::span<const int> SocketLeaders::ranks(int node, int socket) const {
  const auto& here = by_node_[static_cast<std::size_t>(node)];
  if (socket >= static_cast<int>(here.size())) return {};
  return here[static_cast<std::size_t>(socket)].ranks;
}

}  // namespace weft::reduce
