// weft run: ranks as processes, and as threads with globals of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/cli/run_tool.hpp"

namespace weft::cli::run_test {
namespace {

std::multiset<std::string> lines(const std::string& text) {
  std::istringstream stream(text);
  std::multiset<std::string> found;
  for (std::string line; std::getline(stream, line);) found.insert(line);
  return found;
}

Ended run(bool one_space, const std::string& ranks, std::vector<std::string> rest,
          const Run& how = {}) {
  std::vector<std::string> arguments = {"run", "-n", ranks, WEFT_TEST_RANKS};
  if (one_space) arguments.insert(arguments.begin() + 1, "--one-address-space");
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return run_tool(arguments, how);
}

class RunCommand : public testing::TestWithParam<bool> {};

TEST_P(RunCommand, GivesEachRankGlobalsArgumentsAndItsPlace) {
  for (const int ranks : {1, 2, 5}) {
    const Ended ended = run(GetParam(), std::to_string(ranks), {"communicate", "-n", "--x y"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    std::multiset<std::string> expected;
    for (int rank = 0; rank < ranks; ++rank) {
      const char* view = ranks == 1 || GetParam() ? "same process" : "cma";
      expected.insert("rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                      ": right, 2 calls, by " + view + ", --x y");
      expected.insert("goodbye of " + std::to_string(rank));
    }
    EXPECT_EQ(lines(ended.out), expected);
    EXPECT_EQ(ended.err, "");
  }
}

TEST_P(RunCommand, LetsRanksEndByExit) {
  const Ended ended = run(GetParam(), "2", {"exit"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(lines(ended.out),
            (std::multiset<std::string>{"bye of 0", "bye of 1", "goodbye of 0", "goodbye of 1"}));
  const Ended quick = run(GetParam(), "2", {"quick"});
  EXPECT_EQ(quick.code, 0);
  EXPECT_EQ(quick.out, "");
}

/// Whose part of a collective is over may free its communicator while others are still in it.
TEST_P(RunCommand, LetsARankLeaveBeforeTheOthers) {
  const TemporaryFolder folder;
  const Ended ended = run(GetParam(), "3", {"leave", folder.path() / "left"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
}

TEST_P(RunCommand, EndsWithWhatTheFirstRankThatFailsEndsWith) {
  const Ended ended = run(GetParam(), "2", {"exit", "7"});
  EXPECT_EQ(ended.code, 7);
  EXPECT_EQ(ended.err, "weft: run: rank 1 ended with 7\n");
}

TEST_P(RunCommand, EndsTheOthersThen) {
  const Ended ended = run(GetParam(), "3", {"wait"});
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.err, "weft: run: rank 0 ended with 3\n");
}

TEST_P(RunCommand, LetsChildrenOfForkExit) {
  EXPECT_EQ(run(GetParam(), "2", {"fork"}).code, 0);
}

TEST_P(RunCommand, HidesNoRankOnAnotherVirtualNode) {
  const Ended ended = run(GetParam(), "4", {"communicate", "end"},
                          {.environment = {{"WEFT_NODES", "2"}, {"WEFT_DEVICE", "soft"}}});
  EXPECT_EQ(ended.code, 0) << ended.err;
}

INSTANTIATE_TEST_SUITE_P(As, RunCommand, testing::Values(false, true), [](const auto& one) {
  return one.param ? "OneAddressSpace" : "Processes";
});

TEST(RunCommandUsage, IsRefusedInOneLine) {
  const struct {
    std::vector<std::string> arguments;
    const char* line;
  } kWrong[] = {
      {{"run", "-n", "2"}, "run: no program given"},
      {{"run", WEFT_TEST_RANKS}, "run: -n RANKS"},
      {{"run", "-n", "0", WEFT_TEST_RANKS}, "-n=0: not a whole number from 1 to 4096"},
      {{"run", "--what", "-n", "2"}, "run --what: no such option"},
      {{"run", "-n", "2", "no-such-program"}, "run no-such-program: no such program on PATH"},
      {{"run", "--one-address-space", "-n", "16", WEFT_TEST_RANKS}, "at most 15 ranks"},
      {{"run", "--one-address-space", "-n", "2", WEFT_SOURCES "/check"}, "is no program"},
  };
  for (const auto& wrong : kWrong) {
    const Ended ended = run_tool(wrong.arguments);
    EXPECT_EQ(ended.code, 2) << wrong.line;
    EXPECT_NE(ended.err.find(wrong.line), std::string::npos) << ended.err;
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  }
  const Ended missing = run_tool({"run", "-n", "2", "./no-such-program"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("./no-such-program"), std::string::npos);
}

}  // namespace
}  // namespace weft::cli::run_test
