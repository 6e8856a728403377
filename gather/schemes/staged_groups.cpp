#include "gather/schemes/staged_groups.hpp"

#include <algorithm>

#include "gather/flat/team_segments.hpp"

namespace weft::gather {

using plan::Space;

StagedGroups::StagedGroups(plan::Builder& builder, const plan::Problem& problem,
                           const hierarchy::Machine& machine,
                           const algorithm::Parameters& parameters, Space root_space,
                           Space own_space)
    : LeaderScheme(builder, problem, machine, parameters, problem.root),
      root_space_(root_space),
      own_space_(own_space),
      root_node_(machine.node_of(problem.root)),
      bundles_(static_cast<std::size_t>(leaders_.columns())),
      groups_(bundles_.size()) {
  for (int column = 0; column < leaders_.columns(); ++column) {
    const int leader = leaders_.leader(node_, column);
    if (!at_root() && leaders_.group(node_, column).size() > 1) {
      groups_[column] = stages_.allocate(leader, group_bytes(node_, column));
    }
    if (!at_root() || leader == problem.root) continue;
    std::uint64_t bytes = 0;
    for (int node = 0; node < machine.nodes(); ++node) {
      if (node != root_node_) bytes += group_bytes(node, column);
    }
    bundles_[column] = stages_.allocate(leader, bytes);
  }
}

std::uint64_t StagedGroups::group_bytes(int node, int column) const {
  return bytes_of(problem_, leaders_.group(node, column));
}

bool StagedGroups::has_self(int column) const {
  return std::ranges::binary_search(leaders_.group(node_, column), self_);
}

bool StagedGroups::in_bundle(int column) const {
  return !bundles_[column].empty() && (self_ == problem_.root || leads(column));
}

Team StagedGroups::bundle_team(int column) {
  const std::vector<int> pair = {problem_.root, leaders_.leader(node_, column)};
  Team team = team_of(pair, self_, problem_.root, stages_);
  team.blocks = 1;
  team.bytes = [this, column](int) { return bundles_[column].bytes(); };
  return team;
}

Team StagedGroups::column_team(int column) const {
  Team team = leaders_.team(column, self_);
  team.bytes = [this, column](int node) {
    return node == root_node_ ? 0 : group_bytes(node, column);
  };
  return team;
}

Team StagedGroups::group_team(int column) {
  const auto group = leaders_.group(node_, column);
  Team team = team_of(group, self_, leaders_.leader(node_, column), stages_);
  team.bytes = [this, group](int block) { return problem_.block(group[block]).bytes; };
  return team;
}

Team StagedGroups::node_team() {
  Team team = team_of(local_, self_, problem_.root, stages_);
  team.bytes = [this](int block) { return problem_.block(local_[block]).bytes; };
  return team;
}

Slices StagedGroups::own_block(int rank) const {
  return at(own_space_, rank, 0, problem_.block(rank).bytes);
}

Slices StagedGroups::block_at_root(int rank) const {
  const plan::Block block = problem_.block(rank);
  return at(root_space_, problem_.root, block.offset, block.bytes);
}

Slices StagedGroups::bundle_at_root(int column) const {
  Slices slices;
  for (int node = 0; node < machine_.nodes(); ++node) {
    if (node == root_node_) continue;
    const Slices group =
        blocks_at(problem_, root_space_, problem_.root, leaders_.group(node, column));
    slices.insert(slices.end(), group.begin(), group.end());
  }
  return slices;
}

Slices StagedGroups::at_root_leader(int column, int node) const {
  if (leaders_.leader(root_node_, column) == problem_.root) {
    return blocks_at(problem_, root_space_, problem_.root, leaders_.group(node, column));
  }
  std::uint64_t before = 0;
  for (int other = 0; other < node; ++other) {
    if (other != root_node_) before += group_bytes(other, column);
  }
  return cut(bundle(column), before, before + group_bytes(node, column));
}

Slices StagedGroups::at_leader(int column) const {
  if (is_alone(column)) return own_block(self_);
  return {groups_[column]};
}

Slices StagedGroups::piece(int column, int index) const {
  const auto group = leaders_.group(node_, column);
  const std::uint64_t before = bytes_of(problem_, group.first(static_cast<std::size_t>(index)));
  return cut({groups_[column]}, before, before + problem_.block(group[index]).bytes);
}

}  // namespace weft::gather
