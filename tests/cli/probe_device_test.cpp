// weft probe on the software device, with ranks of its own.
#include <csignal>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/env.hpp"
#include "nic_profiles/profile.hpp"
#include "tests/cli/run_tool.hpp"
#include "tests/device_measurements/busy_cores.hpp"

namespace weft::cli::probe_device_test {
namespace {

using nlohmann::json;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return (std::stringstream() << file.rdbuf()).str();
}

/// The child processes of `process`, once all `count` of them have their memory for messages.
std::vector<pid_t> busy_children(pid_t process, std::size_t count) {
  const std::string of = "/proc/" + std::to_string(process);
  std::ifstream list(of + "/task/" + std::to_string(process) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) {
    const std::string maps = text_of("/proc/" + std::to_string(child) + "/maps");
    if (maps.find("weft-connection") != maps.npos) children.push_back(child);
  }
  if (children.size() != count) children.clear();
  return children;
}

class DeviceProbe : public ::testing::Test {
 protected:
  Ended probe(std::vector<std::string> arguments, std::function<void(pid_t)> meanwhile = {}) const {
    arguments.insert(arguments.begin(), {"probe", "--device", "soft"});
    return run_tool(arguments,
                    {.environment = {{"WEFT_PROFILES", kept_}}, .meanwhile = std::move(meanwhile)});
  }
  std::vector<std::filesystem::path> kept() const {
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::exists(kept_)) return files;
    for (const auto& entry : std::filesystem::directory_iterator(kept_)) {
      files.push_back(entry.path());
    }
    return files;
  }
  /// A profile is kept, and steady; or it is not, and a line says why. `ended`: a probe with
  /// --json.
  void expect_kept_or_said(const Ended& ended) const {
    const json steadiness = json::parse(ended.out)["steadiness"];
    const std::string why_not = steadiness["why_not"];
    EXPECT_EQ(steadiness["steady"], why_not.empty());
    if (!why_not.empty()) {
      EXPECT_EQ(ended.err, "weft: the profile is not kept for programs: " + why_not + "\n");
      EXPECT_EQ(kept().size(), 0U);
      return;
    }
    EXPECT_EQ(ended.err, "");
    ASSERT_EQ(kept().size(), 1U);
    EXPECT_EQ(text_of(kept()[0]), ended.out);
    EXPECT_EQ(steadiness["loose"].size(), 0U) << steadiness;
    EXPECT_EQ(steadiness["disturbed"], 0) << steadiness;
    EXPECT_FALSE(nic_profiles::load(kept()[0].string()).intervals.empty());
  }
  TemporaryFolder folder_;
  std::string kept_ = folder_.path() / "kept";
};

TEST_F(DeviceProbe, GivesAPlausibleProfile) {
  const std::string page = folder_.path() / "page.html";
  const std::string output = folder_.path() / "probed.json";
  const Ended ended = probe(
      {"--quick", "--pairs", "2", "--budget", "5", "--json", "--html", page, "--output", output});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json report = json::parse(ended.out);
  EXPECT_TRUE(report["complete"]);
  const json& taken = report["measurements"];

  double copied = 0;  // bytes a ns, by the fastest core
  for (const json& copy : taken["copies"]) {
    const double ns = copy["time_ns"];
    EXPECT_GE(ns, 0) << copy;
    if (ns > 0) copied = std::max(copied, copy["bytes"].get<double>() / ns);
  }
  for (const json& latency : taken["latency"]) EXPECT_GT(latency["time_ns"], 0) << latency;
  EXPECT_GT(taken["latency"].back()["bytes"], 4096);
  // Cores move all bytes, so the device is not faster than copies on any machine.
  for (const json& stream : taken["bandwidths"]) {
    EXPECT_GT(stream["bytes_per_ns"], 0) << stream;
    EXPECT_LT(stream["bytes_per_ns"], 8 * copied) << stream;
  }
  EXPECT_GT(taken["signal"]["time_ns"], 0);
  for (const json& one : taken["registrations"]) EXPECT_GT(one["time_ns"], 0) << one;
  EXPECT_TRUE(report["profile"]["adapter"]["in_order_placement"]["value"]);
  EXPECT_EQ(report["profile"]["adapter"]["eager_bytes"]["value"], 8192);
  EXPECT_EQ(text_of(page).find("<!DOCTYPE html>"), 0U);

  // Programs find the profile where it can be trusted, and the simulator in any case.
  expect_kept_or_said(ended);
  const Ended sim = run_tool({"sim", "alltoall", "--algorithm", "isend", "--nodes", "2", "--ppn",
                              "2", "--bytes", "64", "--nic", output});
  EXPECT_EQ(sim.code, 0) << sim.err;
}

// Half a minute of every core.
TEST_F(DeviceProbe, KeepsNothingThatABusyMachineSpoils) {
  if (!env::text("WEFT_LONG_TESTS")) GTEST_SKIP() << "only with WEFT_LONG_TESTS";
  const test::BusyCores busy;
  const Ended ended = probe({"--quick", "--pairs", "2", "--budget", "1", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json cores = json::parse(ended.out)["steadiness"]["cores"];
  EXPECT_GT(cores["others_s"], 0.2 * cores["seconds"].get<double>()) << cores;
  expect_kept_or_said(ended);
  for (const auto& path : kept()) {
    EXPECT_LT(nic_profiles::load(path.string()).hardware.node.signal_ns, 100'000) << text_of(path);
  }
}

TEST_F(DeviceProbe, GivesWhatItHasOnCtrlC) {
  const std::string output = folder_.path() / "partial.json";
  bool sent = false;
  // To all processes, as a terminal does.
  const Ended ended = probe({"--pairs", "2", "--output", output}, [&](pid_t tool) {
    const auto children = busy_children(tool, 3);
    if (sent || children.empty()) return;
    // The tool handles the signal from its first measurement on; before, the signal ends it.
    const std::string status = text_of("/proc/" + std::to_string(tool) + "/status");
    const auto caught = status.find("SigCgt:\t");
    if (caught == status.npos) return;
    if ((std::stoull(status.substr(caught + 8, 16), nullptr, 16) & 1U << (SIGINT - 1)) == 0) return;
    for (const pid_t child : children) ::kill(child, SIGINT);
    ::kill(tool, SIGINT);
    sent = true;
  });
  EXPECT_TRUE(sent);
  EXPECT_EQ(ended.code, 1) << ended.signal;
  EXPECT_EQ(ended.err, "weft: interrupted: the result is partial, and marked so\n");
  EXPECT_NE(ended.out.find("PARTIAL"), std::string::npos);
  EXPECT_FALSE(json::parse(text_of(output))["complete"]);
  EXPECT_EQ(kept().size(), 0U);
}

TEST_F(DeviceProbe, EndsWithOneErrorWhenARankDies) {
  pid_t killed = 0;
  const Ended ended = probe({"--pairs", "2"}, [&](pid_t tool) {
    const auto children = busy_children(tool, 3);
    if (killed != 0 || children.empty()) return;
    killed = children.back();
    ::kill(killed, SIGKILL);
  });
  EXPECT_NE(killed, 0);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err.find("weft: rank "), 0U) << ended.err;
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_EQ(kept().size(), 0U);
}

TEST_F(DeviceProbe, RefusesWhatMakesNoSense) {
  const auto refused = [](const std::vector<std::string>& arguments,
                          const std::vector<std::pair<std::string, std::string>>& environment,
                          const std::string& error) {
    const Ended ended = run_tool(arguments, {.environment = environment});
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(ended.err, "weft: " + error + "\n");
  };
  refused({"probe", "--pairs", "0"}, {}, "--pairs=0: not a whole number from 1 to 64");
  refused({"probe", "--simulate", "soft", "--device", "soft"}, {},
          "--device: not together with --simulate, which needs no device");
  refused({"probe", "--device", "soft"}, {{"WEFT_RANK", "0"}, {"WEFT_SIZE", "1"}},
          "a probe of 1 ranks on 1 nodes: it needs ranks on 2");
  refused({"probe", "--pairs", "2"}, {{"WEFT_SIZE", "1"}, {"WEFT_RANK", "0"}},
          "--pairs=2: only for a probe by one process; here the number of ranks decides");
  const Ended nowhere = probe({"--html", "/nowhere/page.html"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_EQ(nowhere.err,
            "weft: rank 0: open(/nowhere/page.html): No such file or directory (errno 2)\n");
  const Ended device = run_tool({"probe", "--device", "mlx9_9"});
  EXPECT_EQ(device.code, 2);
  EXPECT_EQ(device.err.find("weft: WEFT_DEVICE=mlx9_9: "), 0U) << device.err;
}

}  // namespace
}  // namespace weft::cli::probe_device_test
