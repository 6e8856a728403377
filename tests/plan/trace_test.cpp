#include "plan/inspect/trace.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weft::plan::trace_test {
namespace {

Trace example() {
  return {"a \"name\" <of> two & more",
          {0, 1},
          {{Activity::busy, OpKind::copy, 1, 0, -1, 32, 0, 2'000'000},
           {Activity::message, OpKind::send, 0, 3, 1, 64, 1'000'000, 5'500'000}}};
}

TEST(TraceEvents, NameNodesAndRanksAndGiveMicroseconds) {
  const std::vector<Trace> traces = {example(), example()};
  const auto json = nlohmann::json::parse(to_trace_events(traces));
  const auto& events = json.at("traceEvents");
  int named = 0;
  std::vector<nlohmann::json> found[3];
  for (const auto& event : events) {
    const std::string kind = event.at("ph");
    if (kind == "M") ++named;
    if (kind == "X") found[0].push_back(event);
    if (kind == "b") found[1].push_back(event);
    if (kind == "e") found[2].push_back(event);
  }
  EXPECT_EQ(named, 2 * (2 + 2));
  ASSERT_EQ(found[0].size(), 2u);
  EXPECT_EQ(found[0][0].at("tid"), 1);
  EXPECT_DOUBLE_EQ(found[0][0].at("dur"), 2.0);
  EXPECT_EQ(found[0][0].at("args").at("bytes"), 32);
  EXPECT_NE(found[0][0].at("pid"), found[0][1].at("pid"));  // one trace beside the other
  ASSERT_EQ(found[1].size(), 2u);
  ASSERT_EQ(found[2].size(), 2u);
  EXPECT_DOUBLE_EQ(found[1][0].at("ts"), 1.0);
  EXPECT_DOUBLE_EQ(found[2][0].at("ts"), 5.5);
  EXPECT_EQ(found[1][0].at("id"), found[2][0].at("id"));
  EXPECT_NE(found[1][0].at("id"), found[1][1].at("id"));
  EXPECT_EQ(events[0].at("args").at("name"), "a \"name\" <of> two & more: node 0");
}

TEST(Svg, DrawsALaneForEachRankAndEscapes) {
  const std::vector<Trace> traces = {example()};
  const std::string svg = to_svg(traces);
  const auto count = [&svg](std::string_view word) {
    int times = 0;
    for (auto at = svg.find(word); at != svg.npos; at = svg.find(word, at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(count("<line "), 1);
  EXPECT_EQ(count("<title>"), 1);
  EXPECT_EQ(count("&lt;of&gt; two &amp; more"), 1);
  EXPECT_EQ(count(">0 on 0<"), 1);
  EXPECT_EQ(count(">1 on 1<"), 1);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace weft::plan::trace_test
