// Groups and peers, on which the schemes are built.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"
#include "hierarchy/groups.hpp"
#include "hierarchy/moves.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::hierarchy::fragments_test {
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

RC_GTEST_PROP(Groups, BySocketAreTheDomains, ()) {
  const Machine machine = any_machine();
  const auto made = groups(machine, kSocketLeaders);
  RC_ASSERT(static_cast<int>(made.size()) == machine.domains());
  for (int domain = 0; domain < machine.domains(); ++domain) {
    const Group& group = made[domain];
    RC_ASSERT(std::ranges::equal(group.ranks, machine.ranks_in(domain)));
    RC_ASSERT(group.node == machine.node_of(group.leader()));
  }
}

TEST(Leaders, AreReadFromANumberOrAName) {
  for (const int leaders : {1, 2, 1000, kAllLeaders, kSocketLeaders}) {
    EXPECT_EQ(parse_leaders("leaders", leaders_text(leaders)), leaders);
  }
  for (const char* bad : {"", "0", "-1", "some", "2147483648"}) {
    try {
      parse_leaders("leaders", bad);
      FAIL() << bad;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()),
                "leaders=" + std::string(bad) +
                    ": not a whole number from 1 to 2147483647, all or sockets");
    }
  }
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
}  // namespace weft::hierarchy::fragments_test
