// Borders between tuned sizes, and what a doubt learns.
#include "tune/experiments/borders.hpp"

#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tune/experiments/searches.hpp"

namespace weft::tune::borders_test {
namespace {

using plan::Collective;

Point at(std::uint64_t bytes) {
  return {Collective::broadcast, bytes, {{"chain", true}, {"binary", true}}, 4};
}

TEST(RulesOf, EndHalfWayWhereNeitherGains) {
  std::vector<Point> points;
  for (const std::uint64_t bytes : {1, 2, 4, 1024}) points.push_back(at(bytes));
  Laboratory alike([](const Experiment&) { return 1.0; });
  const auto rules = rules_of(
      points, {{"chain", 0, 1}, {"chain", 0, 1}, {"binary", 0, 1}, {"chain", 512, 1}}, at, alike);
  const std::vector<Rule> expected = {
      {2, "chain"}, {64, "binary"}, {Rule::kAnyBytes, "chain:segment=512"}};
  EXPECT_EQ(rules, expected);
}

/// One wins up to `turn`, and the other from there on.
RC_GTEST_PROP(RulesOf, FindTheBorderOfWhatJumps, ()) {
  const auto low = *rc::gen::inRange<std::uint64_t>(100, 10'000);
  const auto high = *rc::gen::inRange<std::uint64_t>(low + 1, 100'000);
  const auto turn = *rc::gen::inRange(low, high);
  const double gain = *rc::gen::inRange(10, 200) / 100.0;
  Laboratory laboratory([&](const Experiment& one) {
    return (one.bytes <= turn) == (one.method == "chain") ? 1.0 : 1 + gain;
  });
  const auto rules =
      rules_of({at(low), at(high)}, {{"chain", 0, 1}, {"binary", 0, 1}}, at, laboratory);
  RC_ASSERT(rules.size() == 2u);
  const auto end = static_cast<double>(rules.front().up_to_bytes);
  RC_ASSERT(end >= static_cast<double>(low) && end < static_cast<double>(high));
  RC_ASSERT(std::max(end, static_cast<double>(turn)) <=
            1.21 * std::min(end, static_cast<double>(turn)));
  // Two each time the ratio is halved.
  const double ratio = std::log(static_cast<double>(high) / static_cast<double>(low));
  const double halvings = std::max(0.0, std::ceil(std::log2(ratio / std::log(1.2)) + 1));
  RC_ASSERT(laboratory.experiments() <= 4 + 2 * halvings);
}

/// Of times that are powers of the size the border is where they cross.
RC_GTEST_PROP(RulesOf, FindWherePowersOfTheSizeCross, ()) {
  const auto low = *rc::gen::inRange<std::uint64_t>(1'000, 10'000);
  const auto cross = *rc::gen::inRange<std::uint64_t>(low, 4 * low);
  const double power = *rc::gen::inRange(1, 20) / 10.0;
  Laboratory laboratory([&](const Experiment& one) {
    const double part = static_cast<double>(one.bytes) / static_cast<double>(cross);
    return one.method == "chain" ? std::pow(part, power) : 1.0;
  });
  const auto rules =
      rules_of({at(low), at(4 * low)}, {{"chain", 0, 1}, {"binary", 0, 1}}, at, laboratory);
  const auto end = static_cast<double>(rules.front().up_to_bytes);
  RC_ASSERT(std::abs(end / static_cast<double>(cross) - 1) < 0.002);
}

TEST(RulesOf, AskNothingWhereOneWinsAll) {
  Laboratory laboratory([](const Experiment&) { return 1.0; });
  const auto rules = rules_of({at(8), at(64)}, {{"chain", 0, 1}, {"chain", 0, 2}}, at, laboratory);
  EXPECT_EQ(rules.size(), 1u);
  EXPECT_EQ(laboratory.experiments(), 0);
}

TEST(RulesOf, LeaveOutWhatCannotRun) {
  const auto small_alone = [](std::uint64_t bytes) {
    Point point = at(bytes);
    if (bytes > 100) point.methods = {{"binary", true}};
    return point;
  };
  Laboratory laboratory([](const Experiment& one) {
    EXPECT_TRUE(one.method == "binary" || one.bytes <= 100);
    return one.method == "chain" ? 1.0 : 2.0;
  });
  const auto rules = rules_of({small_alone(64), small_alone(1024)},
                              {{"chain", 0, 1}, {"binary", 0, 2}}, small_alone, laboratory);
  EXPECT_LE(rules.front().up_to_bytes, 120u);
  EXPECT_GE(rules.front().up_to_bytes, 64u);
}

// A factor that all predictions have in common is no error.
RC_GTEST_PROP(Doubt, LearnsTheErrorsThatAreNotCommonToAll, ()) {
  const double common = *rc::gen::inRange(1, 100) / 10.0;
  Doubt doubt(0.25);
  RC_ASSERT(doubt.now() == 0.25);
  for (int i = 0; i < 20; ++i) doubt.learn(1, common * (i % 2 == 0 ? 1.05 : 1.0));
  RC_ASSERT(doubt.now() > 0.08 && doubt.now() < 0.12);
  doubt.go_to(1 << 20);
  doubt.learn(1, common);
  RC_ASSERT(doubt.now() == 0.25);  // what was learnt elsewhere does not count
  for (int i = 0; i < 20; ++i) doubt.learn(1, common * (i % 2 == 0 ? 2 : 1));
  RC_ASSERT(doubt.now() == 0.25);
}

// Where errors are no larger than the doubt, the choice is no slower than the regret says.
RC_GTEST_PROP(ByTaughtPrediction, LosesNoMoreThanTheRegret, ()) {
  const std::vector<Method> methods = {
      {"binomial", false}, {"chain", false}, {"binary", false}, {"sequential", false}};
  const Point point{Collective::broadcast, 64, methods, 4};
  const double most = *rc::gen::inRange(1, 100) / 100.0;
  const double common = *rc::gen::inRange(1, 100) / 10.0;
  std::map<std::string, std::pair<double, double>> times;  // predicted, measured
  for (const Method& one : methods) {
    const double predicted = *rc::gen::inRange(100, 200) / 100.0;
    const double error = std::pow(1 + most, *rc::gen::inRange(-99, 100) / 200.0);
    times[one.name] = {predicted, common * predicted * error};
  }
  Doubt doubt(most);
  doubt.learn(1, common);
  Laboratory all([&](const Experiment& one) { return times.at(one.method).second; });
  Laboratory few = all;
  const Found found = by_taught_prediction(
      point, few, [&](const Experiment& one) { return times.at(one.method).first; }, doubt);
  const double best = exhaustive(point, all).seconds;
  RC_ASSERT(times.at(found.method).second <= best * 1.025 * (1 + 1e-9));
}

TEST(ByTaughtPrediction, MeasuresLessOnceItHasLearnt) {
  Doubt doubt(0.25);
  const std::vector<Method> methods = {
      {"binomial", false}, {"chain", false}, {"binary", false}, {"sequential", false}};
  const auto predict = [](const Experiment& one) {
    return 1 + 0.1 * static_cast<double>(one.method.size());
  };
  Laboratory laboratory([&](const Experiment& one) { return 3 * predict(one); });
  std::vector<int> taken;
  for (const std::uint64_t bytes : {8, 16, 32, 64}) {
    const Found found = by_taught_prediction({Collective::broadcast, bytes, methods, 4}, laboratory,
                                             predict, doubt);
    EXPECT_EQ(found.method, "chain");
    taken.push_back(laboratory.experiments());
  }
  // Nothing until the sizes at which it has learnt are too far away.
  EXPECT_EQ(taken, (std::vector<int>{4, 4, 4, 8}));
}

}  // namespace
}  // namespace weft::tune::borders_test
