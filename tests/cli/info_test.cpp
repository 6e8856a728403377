#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include <nlohmann/json.hpp>

#include "hierarchy/detect.hpp"
#include "tests/cli/run_tool.hpp"

namespace weft::cli::info_test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

json info(const Run& how = {}) {
  const Ended ended = run_tool({"info", "--json"}, how);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  return json::parse(ended.out);
}

const json& named(const json& list, const std::string& name) {
  for (const json& one : list) {
    if (one.at("name") == name) return one;
  }
  ADD_FAILURE() << name << " is not in " << list;
  static const json none;
  return none;
}

TEST(Info, ShowsTheMachine) {
  const auto told = info();
  EXPECT_EQ(told.at("version"), WEFT_VERSION);
  EXPECT_EQ(told.at("topology").at("hardware"), hierarchy::describe_topology());
  EXPECT_EQ(told.at("topology").at("host_identity"), hierarchy::host_identity());
  EXPECT_GE(told.at("topology").at("usable_cores"), 1);
  EXPECT_TRUE(named(told.at("views"), "same process").at("works").get<bool>());
  EXPECT_TRUE(named(told.at("views"), "staged").at("works").get<bool>());
  const auto& cma = named(told.at("views"), "cma");
  EXPECT_NE(cma.at("works").get<bool>(), !cma.at("why").get<std::string>().empty());
  const auto& xpmem = named(told.at("views"), "xpmem");
  EXPECT_EQ(xpmem.at("works").get<bool>(), xpmem.at("why").get<std::string>().empty());
  if (!std::filesystem::exists("/dev/xpmem")) {
    EXPECT_EQ(xpmem.at("why"), "no /dev/xpmem");
  }
}

TEST(Info, ShowsHowRanksWait) {
  const std::string waiting = info().at("topology").at("waiting");
  EXPECT_NE(waiting.find(std::to_string(hierarchy::usable_cores())), waiting.npos) << waiting;
  const auto told = info({.environment = {{"WEFT_WAIT", "sleep"}}});
  EXPECT_EQ(told.at("topology").at("waiting"), "sleep (WEFT_WAIT)");
}

TEST(Info, ShowsTheSoftwareDevice) {
  const auto told = info({.environment = {{"WEFT_DEVICE", "soft"}}});
  const auto& library = named(told.at("libraries"), "software device");
  ASSERT_EQ(library.count("error"), 0u) << library;
  ASSERT_GE(library.at("devices").size(), 1u);
  const auto& device = library.at("devices")[0];
  ASSERT_GE(device.at("ports").size(), 1u) << device;
  const auto& port = device.at("ports")[0];
  EXPECT_EQ(port.at("state"), "active");
  EXPECT_EQ(port.at("link_layer"), "InfiniBand");
  EXPECT_GT(port.at("lid"), 0);
  EXPECT_GE(port.at("mtu_bytes"), 256);
  EXPECT_GE(port.at("gids").size(), 1u);
  ASSERT_EQ(told.at("rails").size(), 1u);
  EXPECT_EQ(told.at("rails")[0].at("name"), "weft_soft0 port 1 (software device)");
}

TEST(Info, ShowsTheRailsThatWouldBeUsed) {
  const std::string device = "weft_soft2,weft_soft0";
  const auto told = info({.environment = {{"WEFT_SOFT_DEVICES", "3"}, {"WEFT_DEVICE", device}}});
  ASSERT_EQ(told.at("rails").size(), 2u);
  for (const auto& [number, name] : {std::pair(0, "weft_soft2"), std::pair(1, "weft_soft0")}) {
    const auto& rail = told.at("rails")[number];
    EXPECT_EQ(rail.at("name").get<std::string>().find(name), 0u) << rail;
    EXPECT_EQ(rail.at("numa_node"), nullptr);
    EXPECT_EQ(rail.at("numa_distance"), 10);
    EXPECT_NE(rail.at("address").get<std::string>().find("LID"), std::string::npos);
  }
  const Ended text =
      run_tool({"info"}, {.environment = {{"WEFT_SOFT_DEVICES", "2"}, {"WEFT_DEVICE", "soft"}}});
  EXPECT_NE(text.out.find("weft_soft1 port 1 (software device)\n"), std::string::npos) << text.out;
}

TEST(Info, SaysWhetherRegistrationsAreKept) {
  const auto told = info().at("registrations");
  EXPECT_NE(told.at("kept").get<bool>(), !told.at("why").get<std::string>().empty()) << told;
}

TEST(Info, ShowsHowTheSoftwareDeviceMovesBytes) {
  const auto used = [](const json& told) {
    std::set<std::string> names;
    for (const json& path : told.at("soft_paths")) {
      if (path.at("used").get<bool>()) names.insert(path.at("name"));
    }
    return names;
  };
  const auto told = info();
  const bool cma = named(told.at("views"), "cma").at("works");
  EXPECT_EQ(used(told), (std::set<std::string>{"direct", cma ? "cma" : "agent"}));
  for (const char* path : {"direct", "cma", "agent"}) {
    EXPECT_EQ(used(info({.environment = {{"WEFT_SOFT_PATH", path}}})), std::set<std::string>{path});
  }
}

TEST(Info, SaysWhyThereIsNoSoftwareDevice) {
  const auto told = info({.environment = {{"WEFT_SOFT_DEVICE", "/none/such.so"}}});
  const auto& library = named(told.at("libraries"), "software device");
  EXPECT_EQ(library.at("devices"), json::array());
  EXPECT_NE(library.at("error").get<std::string>().find("/none/such.so"), std::string::npos);
  const auto& addon = named(told.at("addons"), "software device");
  EXPECT_EQ(addon.at("path"), "/none/such.so");
  EXPECT_FALSE(addon.at("exists").get<bool>());
}

TEST(Info, ShowsTheSettingsInForce) {
  const auto told = info({.environment = {{"WEFT_NODES", "2"}, {"WEFT_ALLTOALL", "rd"}}});
  EXPECT_EQ(named(told.at("settings"), "WEFT_NODES").at("value"), "2");
  EXPECT_EQ(named(told.at("settings"), "WEFT_ALLTOALL").at("value"), "rd");
  EXPECT_EQ(named(told.at("settings"), "WEFT_EAGER").at("value"), nullptr);
  EXPECT_EQ(named(told.at("settings"), "WEFT_EAGER").at("default"), "8192");
  const Ended text = run_tool({"info"}, {.environment = {{"WEFT_NODES", "1+3+4"}}});
  EXPECT_TRUE(std::regex_search(text.out, std::regex("WEFT_NODES +1\\+3\\+4 ")));
}

TEST(Info, EndsWithTwoWhenASettingIsWrong) {
  const struct {
    const char* name;
    const char* value;
    const char* line;
  } kWrong[] = {
      {"WEFT_VIEW", "xray", "WEFT_VIEW=xray: not one of auto, shared-heap, xpmem, cma, staged"},
      {"WEFT_LOG", "loud", "WEFT_LOG=loud: not one of off, error, warn, info, debug"},
      {"WEFT_WAIT", "never", "WEFT_WAIT=never: not one of auto, spin, sleep"},
      {"WEFT_EAGER", "lots",
       "WEFT_EAGER=lots: not a size from 0 to 1073741824 bytes (K, M, G, T, P and E are powers of "
       "1024)"},
      {"WEFT_ALLTOALL", "magic",
       "WEFT_ALLTOALL=magic: algorithm 'magic' for alltoall: not one of isend, bruck, "
       "pairwise-xor, "
       "pairwise-ring, fat-tree, factors, sa, rd, leader, two-step"},
  };
  for (const auto& [name, value, line] : kWrong) {
    const Ended ended = run_tool({"info", "--json"}, {.environment = {{name, value}}});
    EXPECT_EQ(ended.code, 2) << name;
    EXPECT_EQ(ended.err, "weft: " + std::string(line) + "\n");
    EXPECT_EQ(json::parse(ended.out).at("problems"), json::array({line}));
  }
  const Ended device = run_tool({"info"}, {.environment = {{"WEFT_DEVICE", "mlx9_9"}}});
  EXPECT_EQ(device.code, 2);
  EXPECT_TRUE(device.err.starts_with("weft: WEFT_DEVICE=mlx9_9: there is no device mlx9_9;"))
      << device.err;
}

/// All WEFT_ names that are whole string literals in the rooms' sources: code that reads a setting
/// has such a literal.
std::set<std::string> settings_in_sources() {
  std::set<std::string> names;
  const std::regex quoted("\"(WEFT_[A-Z_]+)\"");
  for (const char* room :
       {"base", "plan", "hierarchy", "alltoall", "verbs", "engine", "comm", "mpi"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(WEFT_SOURCES) / room)) {
      if (entry.path().extension() != ".cpp") continue;
      std::ifstream file(entry.path());
      const std::string text(std::istreambuf_iterator<char>(file), {});
      for (std::sregex_iterator match(text.begin(), text.end(), quoted), end; match != end;
           ++match) {
        names.insert((*match)[1]);
      }
    }
  }
  return names;
}

TEST(Info, KnowsEverySettingThatIsRead) {
  const auto names = settings_in_sources();
  EXPECT_GE(names.size(), 10u);
  const auto told = info();
  for (const std::string& name : names) named(told.at("settings"), name);
}

}  // namespace
}  // namespace weft::cli::info_test
