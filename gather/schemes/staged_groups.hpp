// Staged groups: places of the blocks of groups of ranks between the root and their owners. Shared
// by the scatter and the gather by leaders.
#pragma once

#include "gather/flat/team_of_all.hpp"
#include "gather/schemes/leader_scheme.hpp"
#include "hierarchy/machine.hpp"

namespace weft::gather {

/// The groups of a scatter or gather, on the node of the builder's rank. A leader of a group of
/// several has room in its stage for their blocks; a leader on the root's node that is not the root
/// has room for the *bundle* of its column: the blocks of that column's groups on all other nodes,
/// by node. The groups of the root's own node take no part in columns.
class StagedGroups : protected LeaderScheme {
 public:
  /// `root_space` has the blocks of all at the root, `own_space` each rank's own. Allocates the
  /// stages; the arguments must live longer.
  StagedGroups(plan::Builder& builder, const plan::Problem& problem,
               const hierarchy::Machine& machine, const algorithm::Parameters& parameters,
               plan::Space root_space, plan::Space own_space);

  /// Whether this is the root's node.
  bool at_root() const { return node_ == root_node_; }
  /// Whether the builder's rank leads the column here.
  bool leads(int column) const { return leaders_.leader(node_, column) == self_; }
  /// Whether it belongs to the column's group here.
  bool has_self(int column) const;
  bool is_alone(int column) const { return leaders_.group(node_, column).size() == 1; }
  /// Whether it is the root or the leader of a bundle that is not at the root anyway.
  bool in_bundle(int column) const;

  /// Teams that want holds, source, target and ready. Of the root (first) and the leader of a
  /// bundle, with the bundle as one block; of a column; of a group; of the root's node.
  Team bundle_team(int column);
  Team column_team(int column) const;
  Team group_team(int column);
  Team node_team();

  /// A rank's block in its own buffer, and in the root's.
  Slices own_block(int rank) const;
  Slices block_at_root(int rank) const;
  /// The bundle of a column in its leader's stage, and in the root's buffer.
  Slices bundle(int column) const { return {bundles_[column]}; }
  Slices bundle_at_root(int column) const;
  /// The blocks of the column's group on `node`, at the column's leader on the root's node.
  Slices at_root_leader(int column, int node) const;
  /// The blocks of the column's group on this node, at its leader.
  Slices at_leader(int column) const;
  /// Of those the one of member `index` of the group.
  Slices piece(int column, int index) const;

 private:
  std::uint64_t group_bytes(int node, int column) const;

  const plan::Space root_space_;
  const plan::Space own_space_;
  const int root_node_;
  std::vector<plan::Slice> bundles_;  // by column; on the root's node
  std::vector<plan::Slice> groups_;   // by column; on other nodes
};

}  // namespace weft::gather
