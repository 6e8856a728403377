// weft probe, on simulated adapters.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "nic_profiles/profile.hpp"
#include "tests/cli/run_tool.hpp"

namespace weft::cli::probe_test {
namespace {

TEST(ProbeCommand, ClassifiesTheSimulatedAdapter) {
  const Ended ended = run_tool({"probe", "--simulate", "MT25208"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_NE(ended.out.find("\nclass: offload-degrading (confidence "), std::string::npos);
}

TEST(ProbeCommand, WritesAProfileThatItReads) {
  const TemporaryFolder folder;
  const std::string json = folder.path() / "probed.json", page = folder.path() / "probed.html";
  const Ended first =
      run_tool({"probe", "--simulate", "qle7140", "--output", json, "--html", page, "--json"});
  EXPECT_EQ(first.code, 0) << first.err;
  const auto printed = nlohmann::json::parse(first.out);
  EXPECT_EQ(printed["class"]["name"], "onload");
  EXPECT_TRUE(printed["complete"]);
  EXPECT_EQ(to_string(nic_profiles::load(json).kind), "onload");
  std::ifstream file(page);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "<!DOCTYPE html>");
  EXPECT_EQ(run_tool({"probe", "--simulate", json}).code, 0);
}

TEST(ProbeCommand, ShowsWhatItDoes) {
  const Ended ended = run_tool({"probe", "--simulate", "qle7140", "--quick", "--watch"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err.find("[1/"), 0U) << ended.err;
  EXPECT_NE(ended.err.find("] latency of 1 B: "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("] stream of 64 B, 8 to 8, both ways: "), std::string::npos)
      << ended.err;
  EXPECT_NE(ended.out.find("\nsteady: exact"), std::string::npos) << ended.out;
}

TEST(ProbeCommand, SaysWhatIsWrong) {
  const Ended budget = run_tool({"probe", "--simulate", "soft", "--budget", "0"});
  EXPECT_EQ(budget.code, 2);
  EXPECT_EQ(budget.err, "weft: --budget=0: not a whole number from 1 to 86400\n");
  const Ended unknown = run_tool({"probe", "--simulate", "qle"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err.find("weft: adapter 'qle': not in the catalogue, which has "), 0U);
  const Ended nowhere = run_tool({"probe", "--simulate", "soft", "--output", "/nowhere/file"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_EQ(nowhere.err, "weft: open(/nowhere/file): No such file or directory (errno 2)\n");
}

}  // namespace
}  // namespace weft::cli::probe_test
