#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nic_profiles/profile.hpp"
#include "tests/cli/run_tool.hpp"
#include "tune/decision_table.hpp"
#include "tune/simulated_choice.hpp"

namespace weft::cli::explain_test {
namespace {

using nlohmann::json;

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

json found_by(const std::string& line) {
  const Ended ended = run_tool(words(line + " --json"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  return json::parse(ended.out);
}

TEST(Explain, ReadsInPlaceFromWhereThatPays) {
  const auto in_place = [](const std::string& how, const std::string& bytes) {
    const auto found = found_by("explain alltoall --machine 2x2 --nic soft --bytes " + bytes + how);
    const auto& candidates = found.at("results").front().at("candidates");
    return std::ranges::any_of(candidates, [](const json& one) {
      return one.at("algorithm").get<std::string>().find("direct=1") != std::string::npos;
    });
  };
  EXPECT_FALSE(in_place("", "64K"));
  EXPECT_FALSE(in_place(" --direct", "4K"));
  EXPECT_FALSE(in_place(" --direct", "1M"));
  EXPECT_FALSE(in_place(" --loads", "1K"));
  EXPECT_TRUE(in_place(" --loads", "4K"));
}

// On crowded cores staging wins: a rank that has staged its block need not wait for its readers.
TEST(Explain, KnowsByTheProfilesHostThatRanksAreCrowded) {
  TemporaryFolder folder;
  const auto path = (folder.path() / "crowded.json").string();
  auto profile = nic_profiles::load("soft");
  const auto reads_in_place = [&](sim::Host host) {
    profile.hardware.host = host;
    std::ofstream(path) << nic_profiles::to_json(profile);
    const auto found = found_by("explain allgather --machine 2x2 --bytes 4K --loads --nic " + path);
    const auto& candidates = found.at("results").front().at("candidates");
    return std::ranges::any_of(candidates, [](const json& one) {
      return one.at("algorithm").get<std::string>().find("inside=direct") != std::string::npos;
    });
  };
  EXPECT_TRUE(reads_in_place({}));
  EXPECT_TRUE(reads_in_place({2, 1, 1300}));
  EXPECT_FALSE(reads_in_place({1, 1, 1300}));
  EXPECT_FALSE(reads_in_place({2, 2, 1300}));
}

TEST(Explain, SaysWhatTheChoiceFinds) {
  const auto found =
      found_by("explain alltoall --nodes 3 --ppn 4 --uneven 1+3+4 --nic qle7140 --bytes 64,4K");
  EXPECT_EQ(found.at("nic"), "qle7140");
  EXPECT_EQ(found.at("machine"), "1+3+4");
  ASSERT_EQ(found.at("results").size(), 2u);
  const auto machine = hierarchy::Machine::parse("1+3+4");
  const auto hardware = nic_profiles::load("qle7140").hardware;
  for (const auto& one : found.at("results")) {
    const auto expected =
        tune::choose(plan::Problem::alltoall(8, one.at("bytes")), tune::Facts{machine}, hardware,
                     {.exhaustive = true, .breakdown = true});
    EXPECT_EQ(one.at("chosen"), expected.front().algorithm.name());
    EXPECT_EQ(one.at("why"), tune::explain(expected));
    ASSERT_EQ(one.at("candidates").size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto& candidate = one.at("candidates")[i];
      EXPECT_EQ(candidate.at("algorithm"), expected[i].algorithm.name());
      EXPECT_DOUBLE_EQ(candidate.at("time_us"), expected[i].time_ns / 1e3);
      double sum = 0;
      double most = 0;
      for (const auto& [name, part] : candidate.at("breakdown_us").items()) {
        sum += part.get<double>();
        most = std::max(most, part.get<double>());
      }
      EXPECT_NEAR(sum, candidate.at("time_us").get<double>(), 1e-3);
      const auto dominant = candidate.at("dominant").get<std::string>();
      EXPECT_EQ(candidate.at("breakdown_us").at(dominant), most);
    }
  }
}

TEST(Explain, TakesSchemesBySocketsWhereThereAreSome) {
  const auto names = [](const std::string& machine) {
    const auto found = found_by("explain alltoall " + machine + " --nic mt25208 --bytes 64");
    std::set<std::string> seen = {found.at("machine").get<std::string>()};
    for (const auto& one : found.at("results")[0].at("candidates"))
      seen.insert(one.at("algorithm"));
    return seen;
  };
  const auto without = names("--nodes 2 --ppn 8");
  EXPECT_FALSE(without.contains("two-step") || without.contains("leader:leaders=sockets"));
  const auto with = names("--nodes 2 --ppn 8 --sockets 2");
  EXPECT_TRUE(with.contains("2x2x4"));
  EXPECT_TRUE(with.contains("two-step") && with.contains("leader:leaders=sockets"));
  EXPECT_EQ(names("--machine 2x2x4"), with);
}

TEST(Explain, PrintsATableTheChoiceAndWhy) {
  const Ended ended =
      run_tool(words("explain alltoall --bytes 512 --nodes 16 --ppn 8 --nic qle7140"));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(ended.out.starts_with("alltoall of 512 bytes on 16x8 with qle7140\n")) << ended.out;
  for (const char* word :
       {"isend", "leader:leaders=2", "startup", "contention", "spends most on"}) {
    EXPECT_NE(ended.out.find(word), std::string::npos) << word << "\n" << ended.out;
  }
}

/// A profile of the catalogue in a file; only these numbers are estimates.
std::string write_profile(const TemporaryFolder& folder, const std::vector<std::string>& paths) {
  auto profile = nic_profiles::load("mt25408");
  for (auto& [path, source] : profile.sources) source = "measured";
  for (const std::string& path : paths) profile.sources.at(path) = "estimate for a test";
  auto path = (folder.path() / "estimates.json").string();
  std::ofstream(path) << nic_profiles::to_json(profile);
  return path;
}

TEST(Explain, SaysHowManyNumbersAreEstimates) {
  const std::string line = "explain alltoall --machine 2x2 --bytes 64 --nic ";
  const Ended ended = run_tool(words(line + "connectx-6"));
  EXPECT_NE(ended.out.find("23 of 33 numbers of connectx-6 are estimates; --sensitivity shows"),
            std::string::npos)
      << ended.out;
  const auto found = found_by(line + "connectx-6");
  EXPECT_EQ(found.at("numbers"), 33);
  EXPECT_EQ(found.at("estimates").size(), 23u);
  EXPECT_FALSE(found.at("results")[0].contains("sensitivity"));

  TemporaryFolder folder;
  const auto path = write_profile(folder, {});
  EXPECT_EQ(run_tool(words(line + path)).out.find("estimate"), std::string::npos);
  const Ended asked = run_tool(words(line + path + " --sensitivity"));
  EXPECT_NE(asked.out.find("No number of mt25408 is an estimate."), std::string::npos) << asked.out;
}

TEST(Explain, ShowsHowFarTheChoiceDependsOnEstimates) {
  TemporaryFolder folder;
  const std::string line = "explain alltoall --machine 4x4 --bytes 128 --sensitivity --nic ";
  // Registration is no part of a simulation.
  const auto idle = write_profile(folder, {"adapter.register_ns"});
  const auto steady = found_by(line + idle).at("results")[0];
  EXPECT_EQ(steady.at("sensitivity").at("variations"), 2);
  EXPECT_TRUE(steady.at("sensitivity").at("changes").empty());
  EXPECT_NE(run_tool(words(line + idle))
                .out.find(steady.at("chosen").get<std::string>() + " is the fastest with all 2."),
            std::string::npos);

  const auto deciding = write_profile(folder, {"adapter.message_gap_ns", "adapter.register_ns"});
  const auto result = found_by(line + deciding).at("results")[0];
  const auto& changes = result.at("sensitivity").at("changes");
  ASSERT_FALSE(changes.empty()) << result.dump(2);
  const Ended ended = run_tool(words(line + deciding));
  for (const json& change : changes) {
    EXPECT_EQ(change.at("estimate"), "adapter.message_gap_ns");
    EXPECT_NE(change.at("chosen"), result.at("chosen"));
    EXPECT_LT(change.at("time_us"), change.at("time_us_of_unchanged_choice"));
    const std::string row = change.at("factor") == 2.0 ? "adapter.message_gap_ns, doubled"
                                                       : "adapter.message_gap_ns, halved";
    EXPECT_NE(ended.out.find(row), std::string::npos) << ended.out;
  }
}

TEST(Explain, TakesEveryCollective) {
  for (const auto collective : plan::all_collectives()) {
    const bool barrier = collective == plan::Collective::barrier;
    const auto found =
        found_by("explain " + std::string(to_string(collective)) +
                 " --nodes 3 --ppn 2 --nic mt25408" + (barrier ? "" : " --bytes 96"));
    EXPECT_GE(found.at("results")[0].at("candidates").size(), 3u) << to_string(collective);
  }
}

TEST(Explain, LeavesOutWhatDeterministicReductionsMayNotTake) {
  const std::string line = "explain allreduce --machine 2x4 --nic soft --bytes 64 --element 8";
  const auto names = [&](const std::string& more) {
    std::vector<std::string> list;
    const json found = found_by(line + more);
    for (const auto& one : found.at("results")[0].at("candidates")) {
      list.push_back(one.at("algorithm"));
    }
    return list;
  };
  const auto has_leader = [](const std::vector<std::string>& list) {
    return std::ranges::find(list, "leader") != list.end();
  };
  EXPECT_TRUE(has_leader(names("")));
  EXPECT_FALSE(has_leader(names(" --deterministic")));
}

TEST(Explain, WritesADecisionTable) {
  TemporaryFolder folder;
  const auto path = (folder.path() / "table.json").string();
  const auto found =
      found_by("explain allgather --machine 2x3 --nic mt25208 --bytes 4K --table " + path);
  const auto table = tune::load_table(path);
  EXPECT_EQ(table.machine, "2x3");
  EXPECT_EQ(table.adapter, "mt25208");
  EXPECT_EQ(table.date.size(), 10u);
  const auto* rule = table.find(plan::Collective::allgather, 4096);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->algorithm, found.at("results")[0].at("chosen"));
}

TEST(Explain, RefusesInOneLine) {
  const std::pair<std::string, std::string> cases[] = {
      {"explain alltoall --nodes 2 --ppn 2 --bytes 8", "--nic"},
      {"explain alltoall --nodes 2 --ppn 2 --nic none --bytes 8", "none"},
      {"explain alltoall --nodes 2 --ppn 2 --nic mt25208", "--bytes"},
      {"explain alltoall --nic mt25208 --bytes 8", "--nodes"},
      {"explain sorting --nodes 2 --ppn 2 --nic mt25208 --bytes 8", "sorting"},
      {"explain alltoall --nodes 2 --ppn 2 --nic mt25208 --bytes 8 --algorithm sa", "--algorithm"},
      {"explain alltoallv --nodes 2 --ppn 2 --nic mt25208 --bytes 8 --table x.json",
       "--table=x.json"},
  };
  for (const auto& [line, said] : cases) {
    const Ended ended = run_tool(words(line));
    EXPECT_EQ(ended.code, 2) << line;
    EXPECT_NE(ended.err.find(said), std::string::npos) << line << "\n" << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << line;
  }
  const Ended ended =
      run_tool(words("explain alltoall --nodes 2 --ppn 2 --nic soft --bytes 8 --table /no/such/x"));
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.err.find("/no/such/x"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace weft::cli::explain_test
