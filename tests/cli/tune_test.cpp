// weft tune: what it finds, its table, its journal, merged tables, mistakes.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run_tool.hpp"
#include "tune/decision_table.hpp"

namespace weft::cli::tune_test {
namespace {

using nlohmann::json;

constexpr const char* kMachine = " --machine 8x1 --nic mt25208";

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

Ended tune(const std::string& line) {
  return run_tool(words("tune " + line));
}

json tuned(const std::string& line) {
  const Ended ended = tune(line + kMachine + " --json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  return json::parse(ended.out);
}

double time_of(const json& result) {
  return result.at("time_us").get<double>();
}

TEST(Tune, FindsNearlyWhatAnExhaustiveSearchFindsByFewerExperiments) {
  const std::string what = "broadcast --bytes 64,16K,256K --experiments ";
  const json best = tuned(what + "exhaustive");
  EXPECT_EQ(best.at("experiments"), best.at("experiments_of_exhaustive"));
  for (const std::string search : {"mgd", "smgd", "pipeline", "prior --prior mt25208"}) {
    const json found = tuned(what + search);
    EXPECT_TRUE(search == "pipeline" || found.at("seconds") < best.at("seconds")) << search;
    for (std::size_t i = 0; i < 3; ++i) {
      const double least = time_of(best.at("results").at(i));
      EXPECT_LE(time_of(found.at("results").at(i)), 1.05 * least) << search;
      EXPECT_GE(time_of(found.at("results").at(i)), least) << search;
    }
  }
  // Times are those of the simulator.
  const json first = best.at("results").at(2);
  const Ended sim = run_tool(words("sim broadcast --bytes 256K --json --algorithm " +
                                   first.at("algorithm").get<std::string>() + kMachine));
  EXPECT_DOUBLE_EQ(time_of(json::parse(sim.out).at("results").front()), time_of(first));
}

TEST(Tune, WritesATableForAllSizes) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "table.json";
  const json found = tuned("scatter --grid 4 --table " + path);
  const tune::DecisionTable table = tune::load_table(path);
  EXPECT_EQ(table.machine, "8x1");
  EXPECT_EQ(table.adapter, "mt25208");
  EXPECT_EQ(found.at("results").size(), 23u);
  for (const json& one : found.at("results")) {
    const auto* rule = table.find(plan::Collective::scatter, one.at("bytes"));
    ASSERT_NE(rule, nullptr);
    EXPECT_EQ(rule->algorithm, one.at("algorithm"));
  }
}

TEST(Tune, TakesRangesOfSizes) {
  std::vector<int> sizes;
  const json found = tuned("gather --bytes 3..30,1K --experiments mgd");
  for (const json& one : found.at("results")) {
    sizes.push_back(one.at("bytes"));
  }
  EXPECT_EQ(sizes, (std::vector<int>{3, 6, 12, 24, 1024}));
}

int experiments_of(const json& found) {
  return found.at("experiments").get<int>() + found.at("experiments_of_borders").get<int>();
}

TEST(Tune, GoesOnWithItsJournal) {
  const TemporaryFolder folder;
  const std::string journal = folder.path() / "journal";
  const std::string what = "broadcast --bytes 1K,64K --journal " + journal;
  const json whole = tuned(what);
  const int all = experiments_of(whole);
  EXPECT_GT(all, 10);
  std::filesystem::resize_file(journal, std::filesystem::file_size(journal) - 500);
  const json rest = tuned(what);
  EXPECT_EQ(rest.at("results"), whole.at("results"));
  EXPECT_GT(rest.at("from_journal"), 0);
  EXPECT_GT(experiments_of(rest), 0);
  EXPECT_EQ(experiments_of(rest) + rest.at("from_journal").get<int>(), all);
  EXPECT_EQ(experiments_of(tuned(what)), 0);
  EXPECT_EQ(tune("gather --bytes 8 --journal " + journal + kMachine).code, 2);
}

TEST(Tune, SaysWhatATableLosesAtSizesThatWereHeldOut) {
  const std::string what = "broadcast --bytes 64,1K,16K,256K --held-out --experiments ";
  const json whole = tuned(what + "exhaustive").at("payback");
  EXPECT_EQ(whole.at("held_out"), 6);
  EXPECT_EQ(tuned(what + "exhaustive").at("payback"), whole);
  // The borders between sizes are more than an exhaustive search takes.
  EXPECT_GE(whole.at("tuning_seconds"), whole.at("exhaustive_seconds"));
  EXPECT_LE(whole.at("tuning_seconds"), 1.5 * whole.at("exhaustive_seconds").get<double>());
  const json few = tuned(what + "prior --prior mt25208").at("payback");
  EXPECT_EQ(few.at("exhaustive_seconds"), whole.at("exhaustive_seconds"));
  EXPECT_LT(few.at("tuning_seconds"), whole.at("exhaustive_seconds"));
  EXPECT_LT(few.at("break_even_calls"), whole.at("break_even_calls"));
  // The sizes and the regret, by other commands.
  const TemporaryFolder folder;
  const std::string path = folder.path() / "table.json";
  tuned("broadcast --bytes 64,1K,16K,256K --experiments exhaustive --table " + path);
  const tune::DecisionTable table = tune::load_table(path);
  std::vector<double> regrets;
  // At one and five eighths of the way to the next size, then at three and seven.
  for (const char* bytes : {"90", "362", "2896", "11585", "23170", "92681"}) {
    const std::string size = std::string(" --bytes ") + bytes;
    const Ended sim = run_tool(
        words("sim broadcast" + size + " --json --algorithm " +
              table.find(plan::Collective::broadcast, std::stoull(bytes))->algorithm + kMachine));
    const double best =
        time_of(tuned("broadcast --experiments exhaustive" + size).at("results").front());
    regrets.push_back(time_of(json::parse(sim.out).at("results").front()) / best - 1);
  }
  EXPECT_NEAR(whole.at("regret_percent").at("most"), 100 * std::ranges::max(regrets), 1e-6);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string page_of(const std::string& line, json& found) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "page.html";
  found = tuned(line + " --html " + path);
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Tune, DrawsAPageOfWhoWinsWhere) {
  json found;
  const std::string page = page_of("broadcast --bytes 64,1K,16K --held-out", found);
  // Nothing is loaded from elsewhere.
  for (const char* words : {"http", "src=", "href=", "url("}) {
    EXPECT_EQ(page.find(words), page.npos) << words;
  }
  EXPECT_EQ(count_of(page, "<figure>"), 3u);
  EXPECT_EQ(count_of(page, "<svg"), 3u);
  // A cell for each size on this machine and on those of half and a quarter of the nodes.
  for (const char* machine : {"8x1", "4x1", "2x1"}) {
    EXPECT_EQ(count_of(page, std::string(" on ") + machine + ": "), 3u) << machine;
  }
  const char* sizes[] = {"64 B", "1 KiB", "16 KiB"};
  for (std::size_t i = 0; i < 3; ++i) {
    const json& result = found.at("results").at(i);
    const std::string algorithm = result.at("algorithm");
    EXPECT_EQ(count_of(page, std::string("<title>") + sizes[i] + " on 8x1: " + algorithm), 1u);
    // In the legend and the table.
    EXPECT_NE(page.find(">" + algorithm.substr(0, algorithm.find(':'))), page.npos);
    const std::string row = "<td class=\"n\">" + std::to_string(result.at("bytes").get<int>());
    EXPECT_NE(page.find(row), page.npos) << row;
  }
  // The regret of fixed rules, and of the table at four sizes between.
  EXPECT_EQ(count_of(page, "<title>the table, between sizes that were tuned: "), 4u);
  EXPECT_EQ(count_of(page, "<title>fixed rules: "), 6u);
  EXPECT_EQ(count_of(page, "<title>simulated: "), 3u);
  EXPECT_EQ(count_of(page, "<title>predicted: "), 0u);
}

TEST(Tune, ShowsPredictionsBesideOnItsPage) {
  json found;
  const std::string page =
      page_of("broadcast --bytes 64,1K --experiments prior --prior connectx-5", found);
  EXPECT_EQ(count_of(page, "<title>predicted: "), 2u);
  EXPECT_NE(page.find("Predicted with connectx-5."), page.npos);
  // A barrier has no sizes to draw over.
  EXPECT_EQ(count_of(page_of("barrier", found), "<svg"), 1u);
}

TEST(Tune, MergesTables) {
  const TemporaryFolder folder;
  const std::string one = folder.path() / "one.json", other = folder.path() / "other.json";
  const std::string both = folder.path() / "both.json";
  tuned("broadcast --bytes 8,64K --table " + one);
  tuned("gather --bytes 8 --table " + other);
  const Ended ended = tune("--merge " + one + " --merge " + other + " --table " + both);
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto table = tune::load_table(both);
  EXPECT_EQ(table.rules(plan::Collective::broadcast),
            tune::load_table(one).rules(plan::Collective::broadcast));
  EXPECT_EQ(table.rules(plan::Collective::gather),
            tune::load_table(other).rules(plan::Collective::gather));
  EXPECT_EQ(tune("gather --machine 2x1 --nic soft --bytes 8 --table " + other).code, 0);
  const Ended wrong = tune("--merge " + one + " --merge " + other);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "weft: --merge " + other +
                           ": a table for 2x1 with soft cannot be merged into one for 8x1 with "
                           "mt25208\n");
}

TEST(Tune, NamesWhatIsWrong) {
  const auto error = [](const std::string& line) {
    const Ended ended = tune(line + kMachine);
    EXPECT_EQ(ended.code, 2);
    return ended.err;
  };
  EXPECT_EQ(error("broadcast --bytes 8 --experiments best"),
            "weft: --experiments=best: must be one of exhaustive, mgd, smgd, pipeline, prior\n");
  EXPECT_EQ(error("broadcast --bytes 8 --experiments prior"),
            "weft: --prior, the profile that predicts, is missing\n");
  EXPECT_EQ(error("broadcast --bytes 8 --doubt 3"), "weft: --doubt is for --experiments prior\n");
  EXPECT_NE(error("alltoallv --bytes 8").find("alltoallv"), std::string::npos);
}

}  // namespace
}  // namespace weft::cli::tune_test
