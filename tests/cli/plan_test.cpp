#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/inspect/cost_sheet.hpp"
#include "plan/inspect/drawing.hpp"
#include "plan/text.hpp"
#include "tests/cli/run_tool.hpp"
#include "tests/registry/plans.hpp"
#include "verbs/connection/rc_wire.hpp"

namespace weft::cli::plan_test {
namespace {

using nlohmann::json;

struct Asked {
  std::string algorithm;
  std::string machine;
  std::uint64_t bytes;

  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> list = {"plan",      "alltoall", "--algorithm", algorithm,
                                     "--machine", machine,    "--bytes",     std::to_string(bytes)};
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }
  std::vector<plan::Plan> plans() const {
    const auto where = hierarchy::Machine::parse(machine);
    const auto chosen = registry::Algorithm::parse(plan::Collective::alltoall, algorithm);
    return registry::plans_of(chosen, plan::Problem::alltoall(where.ranks(), bytes), where);
  }
};

const std::vector<Asked> kAsked = {{"sa", "3x4", 512},
                                   {"leader:leaders=2,between=bruck,radix=3", "1+3+4", 7},
                                   {"rd:direct=1", "0,1,0,1,2", 64},
                                   {"isend", "1x1", 0}};

TEST(Plan, PrintsTextThatReadsBackAsThePlan) {
  for (const Asked& asked : kAsked) {
    const auto plans = asked.plans();
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      const Ended ended = run_tool(asked.arguments({"--rank", std::to_string(rank)}));
      EXPECT_EQ(ended.code, 0);
      EXPECT_EQ(ended.err, "");
      EXPECT_EQ(plan::parse(ended.out), plans[rank]);
      // Through the tool a second time: the comments are gone.
      EXPECT_EQ(run_tool({"plan", "--file", "-"}, {.input = ended.out}).out, to_text(plans[rank]));
    }
  }
}

TEST(Plan, ReadsTheTextOfAllRanksInOneFileOrMany) {
  for (const Asked& asked : kAsked) {
    const std::string all = run_tool(asked.arguments({"--text"})).out;
    const TemporaryFolder folder;
    std::string expected;
    for (const auto& plan : asked.plans()) {
      folder.write("rank" + std::to_string(plan.rank()), to_text(plan));
      expected += to_text(plan);
    }
    EXPECT_EQ(run_tool({"plan", "--file", "-"}, {.input = all}).out, expected);
    EXPECT_EQ(run_tool({"plan", "--file", folder.path().string()}).out, expected);
    EXPECT_EQ(run_tool({"plan", "--file", "-", "--rank", "0"}, {.input = all}).out,
              to_text(asked.plans()[0]));
  }
}

TEST(Plan, PrintsTheCostSheetAndThePicture) {
  for (const Asked& asked : kAsked) {
    const auto plans = asked.plans();
    const auto machine = hierarchy::Machine::parse(asked.machine);
    const auto nodes = machine.node_of_rank();
    const std::string sheet = to_table(plan::cost_sheet(nodes, plans), true);
    const std::string out = run_tool(asked.arguments()).out;
    EXPECT_NE(out.find(sheet), std::string::npos) << out;
    EXPECT_NE(out.find(plan::draw(nodes, plans)), std::string::npos) << out;
    // The same from plans in text form.
    const std::string text = run_tool(asked.arguments({"--text"})).out;
    const Ended read =
        run_tool({"plan", "--file", "-", "--machine", asked.machine}, {.input = text});
    EXPECT_NE(read.out.find(sheet), std::string::npos) << read.out << read.err;
  }
}

TEST(Plan, SumsUpManyRanksByNode) {
  const std::string out = run_tool(Asked{"sa", "4x16", 8}.arguments()).out;
  EXPECT_EQ(out.find("rank 0"), std::string::npos) << out;
  EXPECT_NE(out.find("node 3"), std::string::npos) << out;
}

TEST(Plan, SaysWhatConnectionsTake) {
  const Asked asked{"sa", "64x8", 512};
  const std::string out = run_tool(asked.arguments()).out;
  EXPECT_NE(out.find("connections of a rank: 63 at most"), std::string::npos) << out;
  const auto told = json::parse(run_tool(asked.arguments({"--json"})).out).at("transport");
  EXPECT_EQ(told.at("connections"), 63);
  EXPECT_EQ(told.at("memory_bytes"), 63 * verbs::RcWire::memory_bytes());
  EXPECT_LT(told.at("memory_bytes"), 2'000'000);
  for (const std::string algorithm : {"rd", "isend"}) {
    const auto other = json::parse(run_tool(Asked{algorithm, "5x3", 8}.arguments({"--json"})).out);
    EXPECT_EQ(other.at("transport").at("connections"), algorithm == "rd" ? 4 : 12);
  }
}

TEST(Plan, PlacesRanksAsAsked) {
  const auto machine_of = [](const std::vector<std::string>& how) {
    std::vector<std::string> arguments = {"plan", "alltoall", "--algorithm", "sa", "--bytes",
                                          "8",    "--json",   "--nodes",     "2",  "--ppn",
                                          "3"};
    arguments.insert(arguments.end(), how.begin(), how.end());
    return json::parse(run_tool(arguments).out).at("machine").get<std::string>();
  };
  EXPECT_EQ(machine_of({}), "2x3");
  EXPECT_EQ(machine_of({"--placement", "block"}), "2x3");
  EXPECT_EQ(machine_of({"--placement", "cyclic"}), "2x3:cyclic");
  EXPECT_EQ(machine_of({"--sockets", "3"}), "2x3x1");
  EXPECT_EQ(machine_of({"--sockets", "2", "--placement", "cyclic"}), "2x3:cyclic/2");
  EXPECT_EQ(machine_of({"--sockets", "1"}), "2x3");
}

TEST(Plan, TellsProgramsTheSame) {
  for (const Asked& asked : kAsked) {
    const auto plans = asked.plans();
    const auto machine = hierarchy::Machine::parse(asked.machine);
    const auto sheet = plan::cost_sheet(machine.node_of_rank(), plans);
    const auto told = json::parse(run_tool(asked.arguments({"--json", "--text"})).out);
    EXPECT_EQ(told.at("algorithm"), asked.algorithm);
    EXPECT_EQ(told.at("machine"), asked.machine);
    EXPECT_EQ(told.at("ranks"), machine.ranks());
    EXPECT_EQ(told.at("nodes"), machine.nodes());
    EXPECT_EQ(told.at("block_bytes"), asked.bytes);
    EXPECT_EQ(told.at("cost").at("rounds"), sheet.rounds);
    EXPECT_EQ(told.at("cost").at("total").at("wire_bytes"), sheet.total.wire_bytes);
    EXPECT_EQ(told.at("cost").at("by_rank").size(), plans.size());
    ASSERT_EQ(told.at("plans").size(), plans.size());
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      const auto& ops = told.at("plans")[rank].at("ops");
      ASSERT_EQ(ops.size(), plans[rank].ops().size());
      for (plan::OpId id = 0; id < ops.size(); ++id) {
        EXPECT_EQ(ops[id].at("op"), to_string(plans[rank].ops()[id].kind));
        EXPECT_EQ(ops[id].at("after").size(), plans[rank].after(id).size());
      }
    }
    EXPECT_EQ(json::parse(run_tool(asked.arguments({"--json"})).out).count("plans"), 0u);
  }
}

TEST(Plan, NamesFileAndLineOfTextThatIsNoPlan) {
  const TemporaryFolder folder;
  const std::string good = run_tool(Asked{"isend", "2x1", 8}.arguments({"--rank", "0"})).out;
  const std::string good_body = good.substr(good.find("weft-plan"));
  const struct {
    std::string text;
    std::string line;  // behind the file's name
  } kBad[] = {
      {"", "plan: ends before its line 'weft-plan'"},
      {"weft-plan 2\n", "plan, line 1: 'weft-plan 2': this reads version 1"},
      {"weft-plan 1\nrank 0 of 2\nbytes input 8 output 8 stage 0 scratch 0\n0 jump 1\n",
       "plan, line 4: '0 jump 1': the op is not send, recv, copy, reduce, signal or wait"},
      {good_body + good_body + "0 send 1 input@0:0+8\n",
       "plan, line 13: '0 send 1 input@0:0+8': ops are numbered in order, next is 3"},
      {std::string("\0\x01\x02garbage", 10), "plan, line 1: '???garbage': expected 'weft-plan'"},
  };
  for (const auto& [text, line] : kBad) {
    const auto path = folder.write("bad.txt", text).string();
    const Ended ended = run_tool({"plan", "--file", path});
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, "weft: " + path + ": " + line + "\n");
  }
}

TEST(Plan, RefusesPlansThatDoNotFitTheMachine) {
  const std::string text = run_tool(Asked{"sa", "2x2", 8}.arguments({"--text"})).out;
  const Ended ended = run_tool({"plan", "--file", "-", "--machine", "2x3"}, {.input = text});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "weft: no cost: 4 plans and the nodes of 6 ranks\n");
}

}  // namespace
}  // namespace weft::cli::plan_test
