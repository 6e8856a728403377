// Completion: what the tool offers. That shells take it from there is tested by shells_test.py.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "plan/problem.hpp"
#include "tests/cli/run_tool.hpp"

namespace weft::cli::completion_test {
namespace {

/// The words that are offered, without their meanings.
std::set<std::string> offered(std::vector<std::string> words) {
  words.insert(words.begin(), "--complete");
  const Ended ended = run_tool(words);
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  std::set<std::string> found;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) found.insert(line.substr(0, line.find('\t')));
  return found;
}

using Words = std::set<std::string>;

TEST(Completion, OffersCommands) {
  EXPECT_TRUE(offered({""}).contains("exec"));
  EXPECT_TRUE(offered({""}).contains("doctor"));
  EXPECT_EQ(offered({"ex"}), (Words{"exec", "explain"}));
  EXPECT_EQ(offered({"--v"}), Words{"--version"});
  EXPECT_EQ(offered({"weave", ""}), Words{});
}

TEST(Completion, OffersOptionsOfTheCommand) {
  EXPECT_EQ(offered({"preload", "--"}), (Words{"--help", "--json", "--mpi", "--soft-device"}));
  EXPECT_EQ(offered({"preload", "--s"}), Words{"--soft-device"});
  // Words that would be the tool's own are words here.
  EXPECT_EQ(offered({"info", "--help", "--j"}), Words{"--json"});
}

TEST(Completion, OffersCollectivesAndTheirAlgorithms) {
  EXPECT_TRUE(offered({"plan", ""}).contains("alltoall"));
  EXPECT_EQ(offered({"plan", "barr"}), Words{"barrier"});
  const Words alltoall = offered({"plan", "alltoall", "--algorithm", ""});
  EXPECT_TRUE(alltoall.contains("sa"));
  EXPECT_FALSE(alltoall.contains("binomial"));
  EXPECT_TRUE(offered({"plan", "broadcast", "--algorithm", ""}).contains("binomial"));
  EXPECT_TRUE(offered({"plan", "--algorithm", "s"}).contains("sa"));
  EXPECT_EQ(offered({"plan", "alltoall", "--nodes", "3", "--algorithm", "br"}), Words{"bruck"});
}

TEST(Completion, KnowsValuesInOneWordAndInThree) {
  EXPECT_EQ(offered({"plan", "alltoall", "--algorithm=br"}), Words{"--algorithm=bruck"});
  EXPECT_EQ(offered({"plan", "alltoall", "--algorithm", "=", "br"}), Words{"bruck"});
  EXPECT_TRUE(offered({"plan", "alltoall", "--algorithm", "="}).contains("bruck"));
  EXPECT_EQ(offered({"preload", "--mpi", ""}), (Words{"openmpi", "mpich"}));
}

TEST(Completion, LeavesFilesAndProgramsToTheShell) {
  EXPECT_EQ(offered({"probe", "--html", "x"}), Words{":files"});
  EXPECT_EQ(offered({"exec", ""}), Words{":programs"});
  EXPECT_EQ(offered({"exec", "--mpi", "openmpi", "./pro"}), Words{":programs"});
  EXPECT_EQ(offered({"exec", "./program", "--mp"}), Words{":files"});
}

}  // namespace
}  // namespace weft::cli::completion_test
