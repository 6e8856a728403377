#include "hierarchy/machine.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "base/error.hpp"
#include "tests/hierarchy/any_machine.hpp"

namespace weft::hierarchy {
namespace {

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
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

RC_GTEST_PROP(Machine, AViewKeepsWhoSharesANode, ()) {
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
    }
  }
}

TEST(Machine, PrintsTheShortestForm) {
  const std::vector<int> uneven = {1, 3, 4};
  EXPECT_EQ(to_string(Machine::uniform(3, 4)), "3x4");
  EXPECT_EQ(to_string(Machine::uniform(1, 1)), "1x1");
  EXPECT_EQ(to_string(Machine::uneven(uneven)), "1+3+4");
  EXPECT_EQ(to_string(Machine({0, 1, 0, 1})), "0,1,0,1");
  EXPECT_EQ(to_string(Machine::cyclic(3, 4)), "3x4:cyclic");
  EXPECT_EQ(to_string(Machine({0, 1, 1, 0})), "0,1,1,0");
}

TEST(Machine, TheFormsMeanWhatTheySay) {
  EXPECT_EQ(Machine::parse("2x3"), Machine({0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Machine::parse("2x3:cyclic"), Machine({0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(Machine::parse("1+2"), Machine({0, 1, 1}));
  EXPECT_EQ(Machine::parse("1,0,1"), Machine({1, 0, 1}));
}

TEST(Machine, RefusesWhatIsNoneAndSaysWhatIsAllowed) {
  const auto message = [](std::string_view text) {
    return "machine '" + std::string(text) +
           "': not NODESxRANKS (3x4), NODESxRANKS:cyclic, ranks a node joined by + (1+3+4), or the "
           "node of each rank (0,1,0,1) without gaps, of at most 1048576 ranks";
  };
  for (const char* bad : {"",         "4",         "x",         "0x4",
                          "3x",       "3x4x5",     "3x4:block", "3x4:cyclic:cyclic",
                          "-1x4",     "1048577x1", "1025x1024", "99999999999x1",
                          "1+",       "+1",        "1+0",       "1+-3",
                          "1+3,4",    "0,2",       "0,",        ",",
                          "0,-1",     "0,1,x",     " 1x1",      "1x1 ",
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

TEST(Machine, RefusesAViewOfWhatItDoesNotHave) {
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
}  // namespace weft::hierarchy
