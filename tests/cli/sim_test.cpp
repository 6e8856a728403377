#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nic_profiles/profile.hpp"
#include "registry/algorithm.hpp"
#include "sim/simulator.hpp"
#include "tests/cli/run_tool.hpp"

namespace weft::cli::sim_test {
namespace {

using nlohmann::json;

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

json results_of(const std::string& line) {
  const Ended ended = run_tool(words(line + " --json"));
  EXPECT_EQ(ended.code, 0) << ended.err;
  return json::parse(ended.out).at("results");
}

TEST(Sim, PrintsWhatTheSimulatorSays) {
  const auto results = results_of(
      "sim alltoall --algorithm isend,leader:leaders=2,between=bruck "
      "--machine 1+3+4 --nic QLE7140 --bytes 64,4K");
  ASSERT_EQ(results.size(), 4u);
  const auto machine = hierarchy::Machine::parse("1+3+4");
  const auto hardware = nic_profiles::load("qle7140").hardware;
  for (const auto& one : results) {
    const auto algorithm = registry::Algorithm::parse(plan::Collective::alltoall,
                                                      one.at("algorithm").get<std::string>());
    const auto problem = plan::Problem::alltoall(8, one.at("bytes"));
    const auto result = sim::simulate(
        [&](int rank) { return algorithm.plan(problem, machine, rank); }, machine, hardware);
    EXPECT_DOUBLE_EQ(one.at("time_us"), result.time_ns / 1e3);
    EXPECT_EQ(one.at("messages"), result.messages);
    EXPECT_EQ(one.at("wire_bytes"), result.wire_bytes);
  }
  EXPECT_EQ(results[3].at("algorithm"), "leader:leaders=2,between=bruck");
}

TEST(Sim, TakesAllAlgorithmsOfEveryCollectiveAndAFileAsAdapter) {
  TemporaryFolder folder;
  const auto path = folder.write("mine.json", nic_profiles::to_json(nic_profiles::load("mt25408")));
  for (const auto collective : plan::all_collectives()) {
    const bool barrier = collective == plan::Collective::barrier;
    const auto results = results_of("sim " + std::string(to_string(collective)) +
                                    " --algorithm all --nodes 3 --ppn 2 --nic " + path.string() +
                                    (barrier ? "" : " --bytes 96"));
    EXPECT_GE(results.size(), 3u) << to_string(collective);
    for (const auto& one : results) EXPECT_GT(one.at("time_us").get<double>(), 0);
  }
}

TEST(Sim, SaysWhatTheTimeGoesInto) {
  const auto results = results_of(
      "sim allreduce --algorithm ring --uneven 1+2 --nic mt25208 --bytes 4K --breakdown");
  double sum = 0;
  for (const auto& [name, part] : results.at(0).at("breakdown_us").items()) {
    sum += part.get<double>();
  }
  EXPECT_NEAR(sum, results.at(0).at("time_us").get<double>(), 1e-3);
}

TEST(Sim, WritesTraces) {
  TemporaryFolder folder;
  for (const std::string name : {"trace.json", "trace.svg"}) {
    const auto path = (folder.path() / name).string();
    results_of("sim alltoall --algorithm sa --nodes 2 --ppn 2 --nic mt25208 --bytes 1K --trace " +
               path);
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (name.ends_with(".svg")) {
      EXPECT_TRUE(text.starts_with("<svg "));
    } else {
      EXPECT_GT(json::parse(text).at("traceEvents").size(), 10u);
    }
  }
}

TEST(Sim, RefusesInOneLine) {
  const std::pair<std::string, std::string> cases[] = {
      {"sim alltoall --algorithm sa --nodes 2 --ppn 2 --bytes 8", "--nic"},
      {"sim alltoall --algorithm sa --nodes 2 --ppn 2 --nic none --bytes 8", "none"},
      {"sim alltoall --nodes 2 --ppn 2 --nic mt25208 --bytes 8", "--algorithm"},
      {"sim alltoall --algorithm magic --nodes 2 --ppn 2 --nic mt25208 --bytes 8", "magic"},
      {"sim alltoall --algorithm sa --nodes 2 --ppn 2 --nic mt25208", "--bytes"},
      {"sim alltoall --algorithm sa --uneven 1+2 --ppn 3 --nic mt25208 --bytes 8", "--ppn=3"},
      {"sim alltoall --algorithm sa --uneven 1+2 --nodes 3 --nic mt25208 --bytes 8", "--nodes=3"},
      {"sim alltoall --algorithm sa --uneven 1+2 --machine 2 --nic soft --bytes 8", "--uneven=1+2"},
      {"sim alltoall --algorithm sa --nodes 2 --ppn 2 --nic mt25208 --bytes 8 --root 1",
       "--root=1"},
      {"sim alltoall --algorithm sa --nodes 2 --ppn 2 --nic mt25208 --bytes 8 --counts skew",
       "--counts=skew"},
      {"sim scan --algorithm all --nodes 2 --ppn 2 --nic mt25208 --bytes 8 --in-place",
       "--in-place"},
      {"sim barrier --algorithm ring --nodes 2 --ppn 2 --nic mt25208 --bytes 8", "--bytes=8"},
      {"sim alltoall --algorithm sa --nodes 2 --ppn 2 --nic mt25208 --bytes 8 --trace a.txt",
       "--trace=a.txt"},
  };
  for (const auto& [line, said] : cases) {
    const Ended ended = run_tool(words(line));
    EXPECT_EQ(ended.code, 2) << line;
    EXPECT_NE(ended.err.find(said), std::string::npos) << line << "\n" << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << line;
  }
}

}  // namespace
}  // namespace weft::cli::sim_test
