#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/check/placements.hpp"
#include "cli/terminal/progress.hpp"
#include "tests/cli/run_tool.hpp"

namespace weft::cli::check_test {
namespace {

using nlohmann::json;

TEST(Check, ProvesEveryVariantOnASmallRange) {
  const Ended ended = run_tool({"check", "alltoall", "--ranks", "1..6", "--json"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  const auto told = json::parse(ended.out);
  EXPECT_TRUE(told.at("holds").get<bool>());
  EXPECT_EQ(told.at("failures"), json::array());
  EXPECT_EQ(told.at("failed"), 0);
  // 1, 3 and then 6 placements for each number of ranks.
  EXPECT_EQ(told.at("machines"), 1 + 3 + 4 * 6);
  for (const char* key : {"problems", "plans", "ops", "messages"}) {
    std::uint64_t sum = 0;
    for (const auto& algorithm : told.at("algorithms")) {
      EXPECT_GT(algorithm.at(key), 0) << algorithm.at("name");
      sum += algorithm.at(key).get<std::uint64_t>();
    }
    EXPECT_EQ(told.at(key), sum) << key;
  }
  EXPECT_EQ(told.at("algorithms").size(), 10u);
}

TEST(Check, ProvesAlltoallvWithEveryKindOfCountsAndInPlace) {
  for (const bool in_place : {false, true}) {
    std::vector<std::string> arguments = {"check",          "alltoallv", "--algorithm",
                                          "sa:aggregate=8", "--machine", "1+3",
                                          "--bytes",        "0,9",       "--json"};
    if (in_place) arguments.emplace_back("--in-place");
    const auto told = json::parse(run_tool(arguments).out);
    EXPECT_TRUE(told.at("holds").get<bool>());
    EXPECT_EQ(told.at("problems"), 2 * 5);
  }
  const auto every = json::parse(run_tool({"check", "alltoallv", "--ranks", "1..4", "--json"}).out);
  EXPECT_TRUE(every.at("holds").get<bool>());
  EXPECT_EQ(every.at("algorithms").size(), 9u);
}

TEST(Check, TellsHowToSeeAFailureOfAlltoallvAgain) {
  // Plans for random counts are wrong for skewed ones.
  const std::string plans = run_tool({"plan", "alltoallv", "--algorithm", "sa", "--machine", "1+3",
                                      "--bytes", "64", "--text"})
                                .out;
  const std::vector<std::string> check = {"check",   "alltoallv", "--machine", "1+3",
                                          "--bytes", "64",        "--file",    "-"};
  EXPECT_EQ(run_tool(check, {.input = plans}).code, 0);
  auto skewed = check;
  skewed.insert(skewed.end(), {"--counts", "skew"});
  EXPECT_EQ(run_tool(skewed, {.input = plans}).code, 1);
}

TEST(Check, CountsWhatItProvedForPeople) {
  const Ended ended = run_tool({"check", "alltoall", "--algorithm", "isend", "--machine", "2x2",
                                "--bytes", "8", "--jobs", "1"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  // Four ranks send to three others and copy their own block: 12 messages, and 28 ops.
  EXPECT_NE(ended.out.find("isend                  1         1           4            28"
                           "            12       0\n"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("All proved"), std::string::npos);
  EXPECT_NE(ended.out.find("1 problem on 1 machine"), std::string::npos);
}

TEST(Check, DoesTheSameOnAnyNumberOfThreads) {
  const auto counts = [](const char* jobs) {
    auto told = json::parse(
        run_tool({"check", "alltoall", "--ranks", "5..7", "--jobs", jobs, "--json"}).out);
    told.erase("seconds");
    told.erase("threads");
    return told;
  };
  EXPECT_EQ(counts("1"), counts("3"));
}

TEST(Check, FollowsItsOptions) {
  const auto told = json::parse(
      run_tool({"check", "alltoall", "--algorithm", "sa", "--algorithm", "rd:direct=1", "--machine",
                "1+3", "--machine", "0,1,0", "--bytes", "0,1,4K", "--stride", "8K", "--json"})
          .out);
  EXPECT_EQ(told.at("machines"), 2);
  EXPECT_EQ(told.at("problems"), 2 * 2 * 3);
  EXPECT_EQ(told.at("plans"), 2 * (4 + 3) * 3);
}

/// The plans of 1+3 by sa, one a rank.
std::vector<std::string> plan_texts() {
  std::vector<std::string> texts;
  for (int rank = 0; rank < 4; ++rank) {
    texts.push_back(run_tool({"plan", "alltoall", "--algorithm", "sa", "--machine", "1+3",
                              "--bytes", "64", "--rank", std::to_string(rank)})
                        .out);
  }
  return texts;
}

Ended check_texts(const std::vector<std::string>& texts, std::vector<std::string> more = {}) {
  const TemporaryFolder folder;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    folder.write("rank" + std::to_string(i) + ".txt", texts[i]);
  }
  std::vector<std::string> arguments = {"check", "alltoall", "--file", folder.path().string()};
  if (more.empty()) more = {"--machine", "1+3", "--bytes", "64"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_tool(arguments);
}

TEST(Check, ProvesThePlansInFiles) {
  const Ended ended = check_texts(plan_texts());
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(ended.out.substr(0, 7), "4 plans");
  EXPECT_NE(ended.out.find(": proved\n"), std::string::npos) << ended.out;
}

/// `text` with its first `from` replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in:\n" << text;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

void expect_failure(const std::vector<std::string>& texts, const std::string& flaw,
                    const std::vector<std::string>& more = {}) {
  const Ended ended = check_texts(texts, more);
  EXPECT_EQ(ended.code, 1) << flaw << "\n" << ended.out << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_TRUE(ended.out.starts_with(flaw + ": ")) << ended.out;
  EXPECT_NE(ended.out.find(": FAILED\n"), std::string::npos) << ended.out;
}

TEST(Check, FailsWithOneWhenAPlanIsBroken) {
  const auto good = plan_texts();
  auto moved = good;  // a block lands in its neighbour's place
  moved[1] = replaced(moved[1], "output@1:64+64", "output@1:128+64");
  const Ended ended = check_texts(moved);
  EXPECT_EQ(ended.code, 1) << ended.out;
  EXPECT_EQ(ended.err, "");

  auto unordered = good;  // a message leaves before its blocks are there
  const auto send = unordered[1].find(" send ");
  ASSERT_NE(send, std::string::npos);
  const auto after = unordered[1].find(" after ", send);
  ASSERT_LT(after, unordered[1].find('\n', send));
  unordered[1].erase(after, unordered[1].find('\n', send) - after);
  expect_failure(unordered, "race");

  auto missing = good;
  missing.pop_back();
  expect_failure(missing, "shape");

  expect_failure(good, "bounds", {"--machine", "2x2", "--bytes", "64"});
  expect_failure(good, "shape", {"--machine", "1+3", "--bytes", "65"});
}

TEST(Check, TellsProgramsWhatFailed) {
  auto texts = plan_texts();
  texts[2] = replaced(texts[2], "recv 0 ", "recv 1 ");
  const Ended ended = check_texts(texts, {"--machine", "1+3", "--bytes", "64", "--json"});
  EXPECT_EQ(ended.code, 1);
  const auto told = json::parse(ended.out);
  EXPECT_FALSE(told.at("holds").get<bool>());
  ASSERT_GE(told.at("findings").size(), 1u);
  EXPECT_TRUE(told.at("findings")[0].get<std::string>().starts_with("matching: "));
}

TEST(Check, EndsWithTwoOnTextThatIsNoPlan) {
  auto texts = plan_texts();
  texts[3] = "weft-plan 1\nrank 3\n";
  const Ended ended = check_texts(texts);
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("rank3.txt: plan, line 2: 'rank 3': ends too early\n"),
            std::string::npos)
      << ended.err;
}

TEST(Placements, AreDifferentAndOfTheRanks) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    const auto list = placements(ranks, 12, 1);
    for (std::size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(list[i].ranks(), ranks);
      for (std::size_t j = 0; j < i; ++j) EXPECT_NE(list[i], list[j]);
    }
    EXPECT_EQ(list.size(), ranks == 1 ? 1u : ranks == 2 ? 3u : 12u) << ranks;
    EXPECT_EQ(placements(ranks, 12, 1), list);
  }
}

TEST(Placements, HaveTheShapesThatSchemesMeet) {
  for (int ranks = 5; ranks <= 40; ++ranks) {
    bool one_node = false, lonely = false, uneven = false, interleaved = false;
    for (const auto& machine : placements(ranks, 6, 1)) {
      int narrowest = ranks;
      bool sorted = true;
      for (int node = 0; node < machine.nodes(); ++node) {
        narrowest = std::min(narrowest, static_cast<int>(machine.ranks_on(node).size()));
      }
      for (int rank = 1; rank < ranks; ++rank) {
        sorted = sorted && machine.node_of(rank - 1) <= machine.node_of(rank);
      }
      one_node = one_node || machine.nodes() == 1;
      lonely = lonely || machine.widest() == 1;
      uneven = uneven || machine.widest() > narrowest + 1;
      interleaved = interleaved || !sorted;
    }
    EXPECT_TRUE(one_node && lonely && interleaved) << ranks;
    EXPECT_TRUE(uneven || ranks < 6) << ranks;
  }
}

TEST(Placements, ChangeWithTheSeed) {
  EXPECT_NE(placements(20, 8, 1), placements(20, 8, 2));
}

TEST(Progress, TellsTimesInRoundUnits) {
  EXPECT_EQ(duration(-1), "0 s");
  EXPECT_EQ(duration(0.1), "1 s");
  EXPECT_EQ(duration(59), "59 s");
  EXPECT_EQ(duration(200), "3 min 20 s");
  EXPECT_EQ(duration(7500), "2 h 5 min");
}

}  // namespace
}  // namespace weft::cli::check_test
