#include "tune/decision_table.hpp"
#include "registry/all_algorithms.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "nic_profiles/profile.hpp"
#include "tests/tune/any_problem.hpp"
#include "tune/candidates.hpp"

namespace weft::tune::decision_table_test {
namespace {

using Json = nlohmann::ordered_json;
using plan::Collective;

DecisionTable any_table() {
  DecisionTable table;
  table.machine = "4x8";
  table.adapter = "some adapter";
  table.date = "2026-11-21";
  const int some = *rc::gen::inRange(1, 5);
  for (int i = 0; i < some; ++i) {
    const auto all = plan::all_collectives();
    const auto collective = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    const auto names = registry::flat_algorithms(collective);
    std::vector<Rule> rules(*rc::gen::inRange<std::size_t>(1, 5));
    std::uint64_t end = 0;
    for (Rule& rule : rules) {
      rule.up_to_bytes = end += *rc::gen::inRange<std::uint64_t>(1, 1 << 20);
      rule.algorithm = names[*rc::gen::inRange<std::size_t>(0, names.size())]->name;
    }
    rules.back().up_to_bytes = Rule::kAnyBytes;
    table.set(collective, rules);
  }
  return table;
}

RC_GTEST_PROP(DecisionTable, ReadsBackWhatItWrites, ()) {
  const DecisionTable table = any_table();
  RC_ASSERT(parse_table("text", to_json(table)) == table);
}

RC_GTEST_PROP(DecisionTable, DamagedTextIsRefusedInOneLineOrRead, ()) {
  std::string text = to_json(any_table());
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto what = *rc::gen::inRange(0, 3);
    if (what == 0) text.erase(at, *rc::gen::inRange<std::size_t>(1, 20));
    if (what == 1) text[at] = *rc::gen::arbitrary<char>();
    if (what == 2) text.insert(at, text.substr(*rc::gen::inRange<std::size_t>(0, text.size()), 20));
  }
  try {
    parse_table("text", text);
  } catch (const UsageError& error) {
    RC_ASSERT(std::string(error.what()).starts_with("text: "));
  }
}

RC_GTEST_PROP(DecisionTable, FindsTheFirstRuleOfAtLeastTheSize, ()) {
  const DecisionTable table = any_table();
  const auto bytes = *rc::gen::inRange<std::uint64_t>(0, 4 << 20);
  for (const Collective collective : plan::all_collectives()) {
    const Rule* expected = nullptr;
    for (const Rule& rule : table.rules(collective)) {
      if (bytes <= rule.up_to_bytes) {
        expected = &rule;
        break;
      }
    }
    RC_ASSERT(table.find(collective, bytes) == expected);
  }
}

std::string error_after(void (*change)(Json&)) {
  DecisionTable table;
  table.machine = "2x2";
  table.adapter = "a";
  table.date = "2026-11-21";
  table.set(Collective::alltoall, {{64, "bruck"}, {4096, "sa"}, {Rule::kAnyBytes, "isend"}});
  Json json = Json::parse(to_json(table));
  change(json);
  try {
    parse_table("file.json", json.dump());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(DecisionTable, ErrorsNameFilePathValueAndWhatIsAllowed) {
  EXPECT_EQ(error_after([](Json& json) { json["schema"] = 2; }),
            "file.json: schema = 2: this weft reads 1 only");
  EXPECT_EQ(error_after([](Json& json) { json.erase("date"); }), "file.json: date: is missing");
  EXPECT_EQ(error_after([](Json& json) { json["adapter"] = 3; }),
            "file.json: adapter = 3: must be a text that is not empty");
  EXPECT_EQ(error_after([](Json& json) { json["nic"] = "x"; }),
            "file.json: nic: unknown; here are allowed: schema, machine, adapter, date, "
            "collectives");
  EXPECT_EQ(error_after([](Json& json) { json["collectives"]["alltoall"].erase(2); }),
            "file.json: collectives.alltoall[1].up_to_bytes: the last rule has none, as it is for "
            "all that is larger");
  EXPECT_EQ(
      error_after([](Json& json) { json["collectives"]["alltoall"][0].erase("up_to_bytes"); }),
      "file.json: collectives.alltoall[0].up_to_bytes: is missing");
  EXPECT_EQ(
      error_after([](Json& json) { json["collectives"]["alltoall"][1]["up_to_bytes"] = 64; }),
      "file.json: collectives.alltoall[1].up_to_bytes = 64: must be above that of the rule before");
  EXPECT_TRUE(
      error_after([](Json& json) { json["collectives"]["alltoall"][1]["algorithm"] = "magic"; })
          .starts_with("file.json: collectives.alltoall[1].algorithm: algorithm 'magic' for "
                       "alltoall: not one of "));
  EXPECT_TRUE(error_after([](Json& json) {
                json["collectives"]["magic"] = 1;
              }).starts_with("file.json: collectives: "));
}

TEST(DecisionTable, GridHasPowersOfTwoAndRoundsToTheNearest) {
  EXPECT_EQ(grid_bytes(0), 1u);
  EXPECT_EQ(grid_bytes(1000), 1024u);
  EXPECT_EQ(grid_bytes(700), 512u);
  EXPECT_EQ(grid_bytes(1 << 30), kLargestGridBytes);
  for (std::uint64_t grid = 1; grid < kLargestGridBytes; grid *= 2) {
    EXPECT_EQ(grid_bytes(grid), grid);
    EXPECT_EQ(grid_bytes(grid_end(grid)), grid);
    EXPECT_EQ(grid_bytes(grid_end(grid) + 1), 2 * grid);
  }
}

RC_GTEST_PROP(DecisionTable, HasTheAlgorithmsOfTheChoice, ()) {
  const auto machine =
      hierarchy::Machine::uniform(*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4));
  const plan::Problem like = any_problem(machine.ranks());
  const Facts facts{machine};
  const auto hardware = nic_profiles::load("mt25408").hardware;
  DecisionTable table;
  table.set(like.collective, tabulate(like, facts, hardware));
  const bool sized = like.collective != Collective::barrier;
  const std::uint64_t bytes = sized ? *rc::gen::inRange<std::uint64_t>(0, 1 << 18) : 0;
  const Rule* rule = table.find(like.collective, bytes);
  RC_ASSERT(rule != nullptr);
  const auto problem = resized(like, sized ? grid_bytes(bytes) : 0);
  RC_ASSERT(rule->algorithm == choose(problem, facts, hardware).front().algorithm.name());
}

}  // namespace
}  // namespace weft::tune::decision_table_test
