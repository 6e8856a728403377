#include "gather/schemes/leaders.hpp"

#include <algorithm>

namespace weft::gather {

namespace {

int index_of(std::span<const int> ranks, int rank) {
  return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
}

}  // namespace

Leaders::Leaders(const hierarchy::Machine& machine, int leaders, int root)
    : machine_(machine), root_(root), groups_(static_cast<std::size_t>(machine.nodes())) {
  for (const hierarchy::Group& group : hierarchy::groups(machine, leaders)) {
    groups_[group.node].push_back(group);
  }
  for (const auto& groups : groups_) columns_ = std::max(columns_, static_cast<int>(groups.size()));
}

std::span<const int> Leaders::group(int node, int column) const {
  const auto& groups = groups_[node];
  if (column >= static_cast<int>(groups.size())) return {};
  return groups[column].ranks;
}

int Leaders::leader(int node, int column) const {
  const auto& groups = groups_[node];
  const hierarchy::Group& group = groups[static_cast<std::size_t>(column) % groups.size()];
  const bool has_root = root_ >= 0 && std::ranges::binary_search(group.ranks, root_);
  return has_root ? root_ : group.leader();
}

Team Leaders::team(int column, int rank) const {
  Team team;
  for (int node = 0; node < machine_.nodes(); ++node) team.members.push_back(leader(node, column));
  team.self = machine_.node_of(rank);
  team.root = root_ < 0 ? 0 : machine_.node_of(root_);
  team.blocks = machine_.nodes();
  return team;
}

Team team_of(std::span<const int> ranks, int rank, int root, hierarchy::Stages& stages) {
  Team team;
  team.members.assign(ranks.begin(), ranks.end());
  team.self = index_of(ranks, rank);
  team.root = index_of(ranks, root);
  team.blocks = team.size();
  team.stages = &stages;
  return team;
}

}  // namespace weft::gather
