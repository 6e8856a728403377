#include "plan/inspect/drawing.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "base/error.hpp"
#include "plan/builder.hpp"
#include "tests/plan/cases.hpp"

namespace weft::plan::testing::drawing_test {
namespace {

TEST(Draw, PutsOpsIntoTheRoundInWhichTheyCanStart) {
  const Case plans = aggregated(Problem::alltoall(6, 64), even_nodes(2, 3));
  EXPECT_EQ(draw(plans.node_of_rank, plans.plans),
            "        round 0         round 1     round 2\n"
            "node 0\n"
            "     0  =384 !1,2 ?1,2  =192 >3 <3  =192\n"
            "     1  =384 !0,2 ?0,2  =192 >4 <4  =192\n"
            "     2  =384 !0,1 ?0,1  =192 >5 <5  =192\n"
            "node 1\n"
            "     3  =384 !4,5 ?4,5  =192 >0 <0  =192\n"
            "     4  =384 !3,5 ?3,5  =192 >1 <1  =192\n"
            "     5  =384 !3,4 ?3,4  =192 >2 <2  =192\n"
            "= bytes copied  + bytes reduced  ! signal  > send  ? wait  < recv\n");
}

TEST(Draw, ShortensListsOfPeers) {
  Builder sender(0, 9, 8, 8);
  std::vector<Builder> others;
  for (int rank = 1; rank < 9; ++rank) others.emplace_back(rank, 9, 8, 8);
  for (const int peer : {1, 2, 4, 6, 7, 8, 8}) {
    sender.send(peer, Slice::contiguous(Space::input, 0, 0, 8));
    others[static_cast<std::size_t>(peer - 1)].recv(0,
                                                    Slice::contiguous(Space::output, peer, 0, 8));
  }
  std::vector<Plan> plans = {std::move(sender).finish()};
  for (Builder& other : others) plans.push_back(std::move(other).finish());
  const std::string drawn = draw(std::vector<int>(9, 0), plans, 0);
  EXPECT_NE(drawn.find(" >1,2,4,6,7,8x2\n"), drawn.npos) << drawn;
}

TEST(Draw, BreaksIntoBandsThatFit) {
  const Case plans = ring(Problem::alltoall(12, 64), even_nodes(2, 6));
  std::istringstream lines(draw(plans.node_of_rank, plans.plans, 3, 60));
  std::string line;
  int rows = 0;
  while (std::getline(lines, line)) {
    if (line[0] != '=') {
      EXPECT_LE(line.size(), 60u) << line;
    }
    if (line.starts_with("     3")) ++rows;
  }
  EXPECT_EQ(rows, 3);
}

TEST(Draw, RefusesRanksThatAreNotThereAndPlansThatDoNotMatch) {
  const Case plans = ring(Problem::alltoall(3, 64), even_nodes(1, 3));
  EXPECT_THROW(draw(plans.node_of_rank, plans.plans, 3), UsageError);
  EXPECT_THROW(draw(plans.node_of_rank, std::span(plans.plans).first(2)), UsageError);
}

}  // namespace
}  // namespace weft::plan::testing::drawing_test
