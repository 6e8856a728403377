// Golden files: plans as text, reviewed by people, shared by the tests of alltoall, gather and
// reduce.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/env.hpp"
#include "plan/text.hpp"
#include "tests/registry/plans.hpp"

namespace weft::registry {

/// A golden file: plans as text, reviewed by people.
struct Golden {
  const char* file;  // without ".txt"
  plan::Collective collective;
  const char* algorithm;
  const char* machine;
  std::vector<int> ranks = {};  // whose plans are in it; none: all
  std::uint64_t block_bytes = 8;
  int root = 0;
};

inline void PrintTo(const Golden& golden, std::ostream* out) {
  *out << golden.file;
}

inline std::string name_of(const testing::TestParamInfo<Golden>& instance) {
  std::string name = instance.param.file;
  std::ranges::replace(name, '+', '_');
  return name;
}

/// Compares the plans with the golden file. After a change that is meant, write the files anew with
///   WEFT_WRITE_GOLDEN=1 build/dev/test_alltoall --gtest_filter='*Golden*'
/// and read the difference.
inline void compare(const Golden& golden) {
  const auto machine = hierarchy::Machine::parse(golden.machine);
  plan::Problem problem{golden.collective, machine.ranks(), golden.block_bytes, golden.block_bytes,
                        golden.root};
  if (is_reduction(problem.collective)) problem.element_bytes = 8;
  problem.associative = is_reduction(problem.collective);
  const auto plans =
      plans_of(Algorithm::parse(golden.collective, golden.algorithm), problem, machine);
  std::string text;
  for (const plan::Plan& plan : plans) {
    const bool all = golden.ranks.empty();
    if (!all && std::ranges::find(golden.ranks, plan.rank()) == golden.ranks.end()) continue;
    if (!text.empty()) text += "\n";
    text += plan::to_text(plan);
  }
  const auto path = std::filesystem::path(WEFT_GOLDEN_FOLDER) / (std::string(golden.file) + ".txt");
  if (env::flag("WEFT_WRITE_GOLDEN").value_or(false)) std::ofstream(path) << text;
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

}  // namespace weft::registry
