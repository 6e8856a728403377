// Columns, groups and blocks: what the schemes build on.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "hierarchy/blocks.hpp"
#include "hierarchy/columns.hpp"
#include "hierarchy/groups.hpp"
#include "hierarchy/moves.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::hierarchy {
namespace {

RC_GTEST_PROP(Columns, EveryRemoteRankHasOneRowAtItsRepresentative, ()) {
  const Machine machine = any_machine();
  for (int node = 0; node < machine.nodes(); ++node) {
    const Columns columns(machine, node);
    std::set<std::pair<int, int>> rows;  // representative, row
    std::set<int> ranks;
    for (int column = 0; column < columns.count(); ++column) {
      const int representative = columns.representative(column);
      RC_ASSERT(machine.node_of(representative) == node);
      int row = columns.first_row(column);
      for (const int rank : columns.remote(column)) {
        RC_ASSERT(machine.node_of(rank) != node);
        RC_ASSERT(machine.place_of(rank) == column);
        RC_ASSERT(columns.row_of(rank) == row++);
        RC_ASSERT(rows.insert({representative, columns.row_of(rank)}).second);
        RC_ASSERT(ranks.insert(rank).second);
      }
    }
    const auto local = machine.ranks_on(node);
    RC_ASSERT(ranks.size() + local.size() == static_cast<std::size_t>(machine.ranks()));
    int total = 0;
    for (const int rank : local) total += columns.rows(rank);
    RC_ASSERT(static_cast<std::size_t>(total) == ranks.size());
    for (const auto& [representative, row] : rows) RC_ASSERT(row < columns.rows(representative));
  }
}

RC_GTEST_PROP(Columns, AllNodesAgreeOnTheMembersOfAColumn, ()) {
  const Machine machine = any_machine();
  const Columns first(machine, 0);
  for (int node = 0; node < machine.nodes(); ++node) {
    const Columns columns(machine, node);
    RC_ASSERT(columns.count() == machine.widest());
    for (int column = 0; column < columns.count(); ++column) {
      RC_ASSERT(columns.members(column) == first.members(column));
      RC_ASSERT(columns.members(column)[node] == columns.representative(column));
    }
  }
}

RC_GTEST_PROP(Groups, CoverEveryNodeEvenly, ()) {
  const Machine machine = any_machine();
  const int leaders = *rc::gen::inRange(1, 12);
  std::vector<int> covered;
  std::vector<int> by_node;
  std::vector<int> count(static_cast<std::size_t>(machine.nodes()));
  for (const Group& group : groups(machine, leaders)) {
    RC_ASSERT(group.leader() == group.ranks.front());
    const int even = machine.ranks_on_node_of(group.leader()) /
                     std::min(leaders, machine.ranks_on_node_of(group.leader()));
    RC_ASSERT(group.size() == even || group.size() == even + 1);
    for (const int rank : group.ranks) {
      RC_ASSERT(machine.node_of(rank) == group.node);
      covered.push_back(rank);
    }
    ++count[group.node];
  }
  for (int node = 0; node < machine.nodes(); ++node) {
    const auto ranks = machine.ranks_on(node);
    by_node.insert(by_node.end(), ranks.begin(), ranks.end());
    RC_ASSERT(count[node] == std::min(leaders, static_cast<int>(ranks.size())));
  }
  RC_ASSERT(covered == by_node);
}

RC_GTEST_PROP(Peers, BeginAfterTheRankAndLeaveItOut, ()) {
  const Machine machine = any_machine();
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    const auto ranks = machine.ranks_on(machine.node_of(rank));
    const auto peers = peers_of(machine, rank);
    RC_ASSERT(peers.size() + 1 == ranks.size());
    for (std::size_t i = 0; i < peers.size(); ++i) {
      RC_ASSERT(peers[i] == ranks[(machine.place_of(rank) + i + 1) % ranks.size()]);
    }
  }
}

TEST(Blocks, AreFewSlices) {
  const auto dense = plan::Problem::alltoall(8, 16);
  const plan::Problem spaced{plan::Collective::alltoall, 8, 16, 20};
  const std::vector<int> run = {2, 3, 4};
  const std::vector<int> comb = {1, 3, 5, 7};
  const std::vector<int> mixed = {0, 1, 5};
  const auto text = [](const std::vector<plan::Slice>& slices) {
    std::string all;
    for (const auto& slice : slices) all += to_string(slice) + " ";
    return all;
  };
  EXPECT_EQ(text(blocks(dense, plan::Space::input, 3, run)), "input@3:32+48 ");
  EXPECT_EQ(text(blocks(spaced, plan::Space::input, 3, run)), "input@3:40+16x3/20 ");
  EXPECT_EQ(text(blocks(dense, plan::Space::output, 0, comb)), "output@0:16+16x4/32 ");
  EXPECT_EQ(text(blocks(dense, plan::Space::input, 0, mixed)), "input@0:0+32 input@0:80+16 ");
  EXPECT_EQ(text(blocks(dense, plan::Space::input, 0, {})), "");
}

}  // namespace
}  // namespace weft::hierarchy
