#include "hierarchy/machine.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "base/error.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::hierarchy::machine_test {
namespace {

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

bool same_domain(const Machine& machine, int a, int b) {
  return machine.domain_of(a) == machine.domain_of(b);
}

RC_GTEST_PROP(Machine, ReadsWhatItPrints, ()) {
  const Machine machine = any_machine();
  RC_ASSERT(Machine::parse(to_string(machine)) == machine);
}

RC_GTEST_PROP(Machine, PlacesCountTheRanksOfANodeInOrder, ()) {
  const Machine machine = any_machine();
  std::size_t total = 0;
  std::size_t widest = 0;
  for (int node = 0; node < machine.nodes(); ++node) {
    const auto ranks = machine.ranks_on(node);
    RC_ASSERT(!ranks.empty());
    RC_ASSERT(std::ranges::is_sorted(ranks));
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      RC_ASSERT(machine.node_of(ranks[place]) == node);
      RC_ASSERT(machine.place_of(ranks[place]) == static_cast<int>(place));
      RC_ASSERT(machine.ranks_on_node_of(ranks[place]) == static_cast<int>(ranks.size()));
    }
    total += ranks.size();
    widest = std::max(widest, ranks.size());
  }
  RC_ASSERT(total == static_cast<std::size_t>(machine.ranks()));
  RC_ASSERT(widest == static_cast<std::size_t>(machine.widest()));
}

RC_GTEST_PROP(Machine, AViewKeepsNodesAndDomains, ()) {
  const Machine machine = any_machine();
  std::vector<int> members(static_cast<std::size_t>(machine.ranks()));
  std::iota(members.begin(), members.end(), 0);
  for (std::size_t i = members.size() - 1; i > 0; --i) {
    std::swap(members[i], members[*rc::gen::inRange<std::size_t>(0, i + 1)]);
  }
  members.resize(*rc::gen::inRange<std::size_t>(1, members.size() + 1));
  const Machine view = machine.view(members);
  RC_ASSERT(view.ranks() == static_cast<int>(members.size()));
  int seen = 0;
  for (int a = 0; a < view.ranks(); ++a) {
    RC_ASSERT(view.node_of(a) <= seen);  // numbered in order of appearance
    seen = std::max(seen, view.node_of(a) + 1);
    for (int b = 0; b < view.ranks(); ++b) {
      RC_ASSERT(view.same_node(a, b) == machine.same_node(members[a], members[b]));
      RC_ASSERT(same_domain(view, a, b) == same_domain(machine, members[a], members[b]));
    }
  }
}

RC_GTEST_PROP(Machine, DomainsPartitionTheRanksOfEachNode, ()) {
  const Machine machine = any_machine();
  RC_ASSERT(machine.has_domains() == (machine.domains() > machine.nodes()));
  RC_ASSERT(machine.first_domain(0) == 0);
  RC_ASSERT(machine.first_domain(machine.nodes()) == machine.domains());
  std::size_t total = 0;
  for (int node = 0; node < machine.nodes(); ++node) {
    int before = -1;  // the first rank of the domain before
    RC_ASSERT(machine.domains_on(node) >= 1);
    for (int i = 0; i < machine.domains_on(node); ++i) {
      const int domain = machine.first_domain(node) + i;
      const auto ranks = machine.ranks_in(domain);
      RC_ASSERT(std::ranges::is_sorted(ranks));
      RC_ASSERT(before < ranks.front());
      before = ranks.front();
      for (const int rank : ranks) {
        RC_ASSERT(machine.node_of(rank) == node);
        RC_ASSERT(machine.domain_of(rank) == domain);
      }
      total += ranks.size();
    }
  }
  RC_ASSERT(total == static_cast<std::size_t>(machine.ranks()));
}

RC_GTEST_PROP(Machine, DomainsAreTheRanksWithEqualLabels, ()) {
  const Machine machine = any_machine();
  const auto labels = *rc::gen::container<std::vector<int>>(
      static_cast<std::size_t>(machine.ranks()), rc::gen::inRange(-2, 3));
  const Machine divided = machine.with_domains(labels);
  RC_ASSERT(divided.without_domains() == machine.without_domains());
  RC_ASSERT(divided.with_domains(divided.domain_of_rank()) == divided);
  for (int a = 0; a < machine.ranks(); ++a) {
    for (int b = 0; b < machine.ranks(); ++b) {
      RC_ASSERT(same_domain(divided, a, b) == (machine.same_node(a, b) && labels[a] == labels[b]));
    }
  }
}

TEST(Machine, OneDomainANodeEqualsNoDomains) {
  const Machine machine = Machine::uniform(2, 3);
  EXPECT_EQ(machine.with_domains(std::vector{4, 4, 4, 2, 2, 2}), machine);
  EXPECT_FALSE(machine.with_domains(machine.node_of_rank()).has_domains());
  EXPECT_EQ(error_of([&] {
              machine.with_domains(std::vector{0, 1});
            }),
            "machine of 6 ranks: domains of 2 ranks, there must be as many");
}

TEST(Machine, PrintsTheShortestForm) {
  const std::vector<int> uneven = {1, 3, 4};
  EXPECT_EQ(to_string(Machine::uniform(3, 4)), "3x4");
  EXPECT_EQ(to_string(Machine::uniform(1, 1)), "1x1");
  EXPECT_EQ(to_string(Machine::uneven(uneven)), "1+3+4");
  EXPECT_EQ(to_string(Machine({0, 1, 0, 1})), "0,1,0,1");
  EXPECT_EQ(to_string(Machine::cyclic(3, 4)), "3x4:cyclic");
  EXPECT_EQ(to_string(Machine({0, 1, 1, 0})), "0,1,1,0");
  EXPECT_EQ(to_string(Machine::uniform(2, 8).with_domains(std::vector{0, 0, 0, 0, 1, 1, 1, 1,  //
                                                                      5, 5, 5, 5, 7, 7, 7, 7})),
            "2x2x4");
  EXPECT_EQ(to_string(in_blocks(Machine::uniform(1, 5), 2)), "1x5/2");
  EXPECT_EQ(to_string(in_blocks(Machine::cyclic(2, 4), 2)), "2x4:cyclic/2");
  EXPECT_EQ(to_string(dealt_out(Machine::uniform(2, 4), 2)), "2x4/2:cyclic");
  EXPECT_EQ(to_string(in_blocks(Machine::uneven(uneven), 3)), "1+3+4/3");
  EXPECT_EQ(to_string(Machine({0, 0, 0, 1}).with_domains(std::vector{1, 0, 0, 0})), "3+1/0,1,1,0");
}

TEST(Machine, ReadsEachForm) {
  EXPECT_EQ(Machine::parse("2x3"), Machine({0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Machine::parse("2x3:cyclic"), Machine({0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(Machine::parse("1+2"), Machine({0, 1, 1}));
  EXPECT_EQ(Machine::parse("1,0,1"), Machine({1, 0, 1}));
  EXPECT_EQ(Machine::parse("2x1x3"), Machine::uniform(2, 3));
  EXPECT_EQ(Machine::parse("1x2x3"),
            Machine::uniform(1, 6).with_domains(std::vector{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Machine::parse("1+4/3"),
            Machine({0, 1, 1, 1, 1}).with_domains(std::vector{0, 0, 0, 1, 2}));
  EXPECT_EQ(Machine::parse("2x3/2:cyclic"),
            Machine::uniform(2, 3).with_domains(std::vector{0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(Machine::parse("2x2/4,4,1,0"),
            Machine::uniform(2, 2).with_domains(std::vector{0, 0, 0, 1}));
}

TEST(Machine, RefusesOtherTextsAndListsTheForms) {
  const auto message = [](std::string_view text) {
    return "machine '" + std::string(text) +
           "': not NODESxRANKS (3x4), NODESxRANKS:cyclic, NODESxSOCKETSxRANKS (3x2x4), ranks a "
           "node joined by + (1+3+4), or the node of each rank (0,1,0,1) without gaps, of at most "
           "1048576 ranks; behind any of these the sockets of a node: /2 (in blocks), /2:cyclic, "
           "or /0,0,1,1 (of each rank)";
  };
  for (const char* bad : {"",
                          "4",
                          "x",
                          "0x4",
                          "3x",
                          "3x4x5x6",
                          "3x4:block",
                          "3x4:cyclic:cyclic",
                          "3x0x4",
                          "3x2x0",
                          "2x2x2/2",
                          "3x4x5:cyclic",
                          "2x1025x1024",
                          "2x2/",
                          "2x2/0",
                          "2x2/-1",
                          "2x2/0,1",
                          "2x2/2:block",
                          "2x2/2/2",
                          "/2",
                          "2x2/0,0,0,x",
                          "-1x4",
                          "1048577x1",
                          "1025x1024",
                          "99999999999x1",
                          "1+",
                          "+1",
                          "1+0",
                          "1+-3",
                          "1+3,4",
                          "0,2",
                          "0,",
                          ",",
                          "0,-1",
                          "0,1,x",
                          " 1x1",
                          "1x1 ",
                          "1048576+1"}) {
    EXPECT_EQ(error_of([&] { Machine::parse(bad); }), message(bad));
  }
}

TEST(Machine, RefusesNodesWithGaps) {
  EXPECT_EQ(error_of([] { Machine({}); }), "machine without ranks: there is at least 1");
  EXPECT_EQ(error_of([] {
              Machine({0, 2, 2});
            }),
            "machine of 3 ranks: node 1 has none, but there is a node 2");
  EXPECT_EQ(error_of([] { Machine({0, 3, 1}); }), "machine of 3 ranks: node 3 is not from 0 to 2");
  EXPECT_EQ(error_of([] { Machine({0, -1}); }), "machine of 2 ranks: node -1 is not from 0 to 1");
}

TEST(Machine, RefusesAViewOfRanksThatItDoesNotHave) {
  const Machine machine = Machine::uniform(2, 2);
  const std::vector<int> beyond = {0, 4};
  const std::vector<int> twice = {1, 1};
  EXPECT_EQ(error_of([&] { machine.view(beyond); }),
            "view of a machine of 4 ranks: member 4 is not one of them, or there twice");
  EXPECT_EQ(error_of([&] { machine.view(twice); }),
            "view of a machine of 4 ranks: member 1 is not one of them, or there twice");
  EXPECT_EQ(error_of([&] { machine.view({}); }), "machine without ranks: there is at least 1");
}

}  // namespace
}  // namespace weft::hierarchy::machine_test
