// Estimates: the interval of a median holds the true one as often as it says, and knows drift.
#include "nic_profiles/fit/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"

namespace weft::nic_profiles::estimate_test {
namespace {

/// Times that are skewed as real ones are; their median is 100 + 50 ln 2.
std::vector<double> skewed(std::mt19937_64& random, std::size_t count) {
  std::exponential_distribution<double> extra(1 / 50.0);
  std::vector<double> times(count);
  for (double& time : times) time = 100 + extra(random);
  return times;
}

TEST(Estimate, HoldsTheMedianInNineteenOfTwentyCases) {
  const double median = 100 + 50 * std::log(2.0);
  std::mt19937_64 random(7);
  for (const std::size_t count : {6, 7, 15, 24, 40, 400}) {
    int held = 0;
    constexpr int kCases = 4000;
    for (int i = 0; i < kCases; ++i) {
      const Spread spread = estimate(skewed(random, count)).spread;
      held += spread.low_ns <= median && median <= spread.high_ns ? 1 : 0;
    }
    // Medians of blocks of a skewed distribution lie a little to one side.
    EXPECT_GE(held, 0.935 * kCases) << count;
    EXPECT_LE(held, 0.995 * kCases) << count;
  }
}

TEST(Estimate, NarrowsWithRepeats) {
  std::mt19937_64 random(7);
  EXPECT_GT(looseness(estimate(skewed(random, 12))), 2 * looseness(estimate(skewed(random, 4000))));
  EXPECT_TRUE(is_tight(estimate(skewed(random, 4000))));
}

// All order statistics near the middle are of the first half: only blocks see that times changed.
TEST(Estimate, IsWideWhereTimesChangeMeanwhile) {
  std::vector<double> times(2200, 100.0);
  times.resize(4000, 200.0);
  const Estimate found = estimate(times);
  EXPECT_EQ(found.ns, 100);
  EXPECT_EQ(found.spread.high_ns, 200);
  EXPECT_FALSE(is_steady(found));
}

TEST(Estimate, MindsFewLongTimesNot) {
  std::vector<double> times(400, 100.0);
  for (std::size_t i = 0; i < times.size(); i += 20) times[i] = 4e6;
  EXPECT_EQ(estimate(times).ns, 100);
  EXPECT_TRUE(is_steady(estimate(times)));
}

TEST(Estimate, IsNotSteadyWhereOthersHadTheCores) {
  Estimate found = estimate(std::vector<double>(100, 4e6));
  EXPECT_TRUE(is_steady(found));
  found.spread.others = 0.5;
  EXPECT_TRUE(is_tight(found));
  EXPECT_FALSE(is_steady(found));
}

TEST(Estimate, IsNotSteadyOfFewTimes) {
  EXPECT_FALSE(is_steady(estimate(std::vector<double>(5, 100.0))));
  EXPECT_TRUE(is_steady(estimate(std::vector<double>(6, 100.0))));
  EXPECT_TRUE(is_steady(exact(100)));
}

TEST(Estimate, NeedsATime) {
  EXPECT_THROW(estimate({}), Error);
}

RC_GTEST_PROP(Estimate, LiesAmongItsTimes, (const std::vector<std::uint16_t>& drawn)) {
  RC_PRE(!drawn.empty());
  const std::vector<double> times(drawn.begin(), drawn.end());
  const auto [low, high] = std::ranges::minmax(times);
  const Estimate found = estimate(times);
  RC_ASSERT(low <= found.spread.low_ns);
  RC_ASSERT(found.spread.low_ns <= found.ns);
  RC_ASSERT(found.ns <= found.spread.high_ns);
  RC_ASSERT(found.spread.high_ns <= high);
  RC_ASSERT(found.spread.repeats == static_cast<int>(times.size()));
}

}  // namespace
}  // namespace weft::nic_profiles::estimate_test
