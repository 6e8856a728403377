// Plans as text, reviewed by people. After a change that is meant, write them anew with
//   WEFT_WRITE_GOLDEN=1 build/dev/test_alltoall --gtest_filter='*Golden*'
// and read the difference.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/env.hpp"
#include "tests/alltoall/support.hpp"

namespace weft::alltoall {
namespace {

struct Case {
  const char* file;
  const char* algorithm;
  const char* machine;
};

void PrintTo(const Case& golden, std::ostream* out) {
  *out << golden.file;
}

constexpr Case kCases[] = {
    {"sa_2x2", "sa", "2x2"},
    {"sa_direct_2x2", "sa:direct=1", "2x2"},
    {"sa_1+3", "sa", "1+3"},
    {"rd_2x2", "rd", "2x2"},
    {"leader_2x2", "leader", "2x2"},
    {"bruck_5", "bruck", "5x1"},
    {"two_step_2x2x2", "two-step", "2x2x2"},
};

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, IsAsReviewed) {
  const auto machine = hierarchy::Machine::parse(GetParam().machine);
  const auto problem = plan::Problem::alltoall(machine.ranks(), 8);
  const auto algorithm = Algorithm::parse(GetParam().algorithm);
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

INSTANTIATE_TEST_SUITE_P(Plans, Golden, testing::ValuesIn(kCases), [](const auto& instance) {
  std::string name = instance.param.file;
  std::ranges::replace(name, '+', '_');
  return name;
});

}  // namespace
}  // namespace weft::alltoall
