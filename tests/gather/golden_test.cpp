// Plans as text, reviewed by people. After a change that is meant, write them anew with
//   WEFT_WRITE_GOLDEN=1 build/dev/test_gather --gtest_filter='*Golden*'
// and read the difference.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/env.hpp"
#include "tests/gather/support.hpp"

namespace weft::gather {
namespace {

struct Case {
  const char* file;
  Collective collective;
  const char* algorithm;
  const char* machine;
  int root;
  std::vector<int> ranks;  // none: all
};

void PrintTo(const Case& golden, std::ostream* out) {
  *out << golden.file;
}

// The worked examples of PiP-MColl: its allgather for small blocks on 16 nodes with 3 objects
// (Figure 3), of which node 0 is shown, and 5 nodes, where the last round has a remainder; for
// large blocks on 3 nodes with 3 objects (Figure 4); its scatter.
const Case kCases[] = {
    {"broadcast_binomial_6", Collective::broadcast, "binomial", "6x1", 2, {}},
    {"broadcast_chain_segments_3", Collective::broadcast, "chain:segment=4", "3x1", 0, {}},
    {"broadcast_leader_2x2", Collective::broadcast, "leader", "2x2", 1, {}},
    {"scatter_binomial_6", Collective::scatter, "binomial", "6x1", 0, {}},
    {"scatter_multi_object_9x2", Collective::scatter, "multi-object", "9x2", 0, {0, 1, 6, 7, 8}},
    {"gather_leader_2x2", Collective::gather, "leader", "2x2", 0, {}},
    {"allgather_doubling_5", Collective::allgather, "doubling", "5x1", 0, {}},
    {"allgather_neighbor_6", Collective::allgather, "neighbor", "6x1", 0, {}},
    {"allgather_multi_object_16x3", Collective::allgather, "multi-object", "16x3", 0, {0, 1, 2}},
    {"allgather_multi_object_5x3", Collective::allgather, "multi-object", "5x3", 0, {0, 1, 2}},
    {"allgather_ring_of_all_3x3",
     Collective::allgather,
     "leader:leaders=all,inside=direct",
     "3x3",
     0,
     {0, 1, 2}},
    {"barrier_dissemination_5", Collective::barrier, "dissemination", "5x1", 0, {}},
    {"barrier_tournament_4", Collective::barrier, "tournament", "4x1", 0, {}},
    {"barrier_leader_2x3", Collective::barrier, "leader", "2x3", 0, {}},
};

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, IsAsReviewed) {
  const Case& golden = GetParam();
  const auto machine = Machine::parse(golden.machine);
  plan::Problem problem{golden.collective, machine.ranks(), 8, 8, golden.root};
  if (golden.collective == Collective::barrier) problem.block_bytes = problem.stride = 0;
  const auto plans =
      plans_of(Algorithm::parse(golden.collective, golden.algorithm), problem, machine);
  std::string text;
  for (const plan::Plan& plan : plans) {
    if (!golden.ranks.empty() && std::ranges::find(golden.ranks, plan.rank()) == golden.ranks.end())
      continue;
    if (!text.empty()) text += "\n";
    text += plan::to_text(plan);
  }
  const auto path = std::filesystem::path(WEFT_GOLDEN_FOLDER) / (std::string(golden.file) + ".txt");
  if (env::flag("WEFT_WRITE_GOLDEN").value_or(false)) std::ofstream(path) << text;
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

INSTANTIATE_TEST_SUITE_P(Plans, Golden, testing::ValuesIn(kCases),
                         [](const auto& instance) { return std::string(instance.param.file); });

}  // namespace
}  // namespace weft::gather
