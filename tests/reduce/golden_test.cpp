// Plans as text, reviewed by people. After a change that is meant, write them anew with
//   WEFT_WRITE_GOLDEN=1 build/dev/test_reduce --gtest_filter='*Golden*'
// and read the difference.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/env.hpp"
#include "tests/reduce/support.hpp"

namespace weft::reduce {
namespace {

struct Case {
  const char* file;
  Collective collective;
  const char* algorithm;
  const char* machine;
  std::uint64_t bytes;  // elements of 8: parts of a vector are easy to tell
};

void PrintTo(const Case& golden, std::ostream* out) {
  *out << golden.file;
}

// 13 processes as Rabenseifner draws them, 8 parts A to H: Fig. 2 and Fig. 3. PiP-MColl's worked
// examples: 16 nodes with 3 objects, a power of the base, and 5 nodes with 3, which is none; 3
// nodes with 3 objects around the ring.
constexpr Case kCases[] = {
    {"fig2_halving_doubling_13", Collective::allreduce, "halving-doubling", "13x1", 64},
    {"fig2_halving_doubling_reduce_13", Collective::reduce, "halving-doubling", "13x1", 64},
    {"fig3_binary_blocks_13", Collective::allreduce, "binary-blocks", "13x1", 64},
    {"fig3_binary_blocks_reduce_13", Collective::reduce, "binary-blocks", "13x1", 64},
    {"multi_bruck_16x3", Collective::allreduce, "multi-bruck:direct=1", "16x3", 8},
    {"multi_bruck_5x3", Collective::allreduce, "multi-bruck:direct=1", "5x3", 8},
    {"multi_doubling_5x3", Collective::allreduce, "multi-doubling:direct=1", "5x3", 8},
    {"multi_ring_3x3", Collective::allreduce, "multi-ring:direct=1", "3x3", 72},
    {"leader_2x2", Collective::allreduce, "leader", "2x2", 16},
    {"leader_all_2x2", Collective::allreduce, "leader:leaders=2", "2x2", 16},
    {"adaptive_6", Collective::allreduce, "adaptive:latency=16", "6x1", 48},
    {"reduce_scatter_halving_5", Collective::reduce_scatter, "recursive-halving", "5x1", 8},
    {"leader_scan_2x2", Collective::scan, "leader", "2x2", 8},
};

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, IsAsReviewed) {
  const auto machine = hierarchy::Machine::parse(GetParam().machine);
  auto problem = problem_of(GetParam().collective, machine.ranks(), GetParam().bytes, 8);
  problem.associative = true;
  problem.root = machine.ranks() == 13 && problem.collective == Collective::reduce ? 9 : 0;
  const auto algorithm = Algorithm::parse(GetParam().collective, GetParam().algorithm);
  std::string text;
  for (int rank = 0; rank < machine.ranks(); ++rank) {
    if (rank > 0) text += "\n";
    text += plan::to_text(algorithm.plan(problem, machine, rank));
  }
  const auto path =
      std::filesystem::path(WEFT_GOLDEN_FOLDER) / (std::string(GetParam().file) + ".txt");
  if (env::flag("WEFT_WRITE_GOLDEN").value_or(false)) std::ofstream(path) << text;
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

INSTANTIATE_TEST_SUITE_P(Plans, Golden, testing::ValuesIn(kCases),
                         [](const auto& instance) { return std::string(instance.param.file); });

}  // namespace
}  // namespace weft::reduce
