// Groups and peers: what the schemes build on.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "hierarchy/groups.hpp"
#include "hierarchy/moves.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::hierarchy {
namespace {

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

}  // namespace
}  // namespace weft::hierarchy
