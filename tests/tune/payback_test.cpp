#include "tune/experiments/payback.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tune/experiments/grid_reduction.hpp"

namespace weft::tune::payback_test {
namespace {

RC_GTEST_PROP(HeldOutSizes, LieBetweenThoseThatWereTuned, ()) {
  const auto element = *rc::gen::element<std::uint64_t>(1, 4, 8);
  std::vector<Point> points;
  std::uint64_t bytes = element;
  for (int i = *rc::gen::inRange(0, 10); i > 0; --i) {
    points.push_back({plan::Collective::broadcast, bytes, {{"chain", true}}, 4});
    bytes += element * *rc::gen::inRange<std::uint64_t>(1, 1000);
  }
  const auto sizes = held_out_sizes(points, element);
  for (const std::uint64_t one : sizes) {
    RC_ASSERT(one % element == 0u);
    RC_ASSERT(one > points.front().bytes && one < points.back().bytes);
    RC_ASSERT(std::ranges::find(points, one, &Point::bytes) == points.end());
  }
  RC_ASSERT(std::ranges::is_sorted(sizes));
  RC_ASSERT(std::ranges::adjacent_find(sizes) == sizes.end());
  // Two in each gap that has room for them, none where a border is looked for.
  std::size_t gaps = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const std::uint64_t low = points[i].bytes, high = points[i + 1].bytes;
    gaps += high >= 2 * low && low >= 64 * element;
    if (low >= 64 * element) RC_ASSERT(std::ranges::count(sizes, half_way(low, high)) == 0);
  }
  RC_ASSERT(sizes.size() >= 2 * gaps);
}

RC_GTEST_PROP(Quantile, HasItsPartOfTheValuesAtOrBelowIt, ()) {
  auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(0, 1000), [](int one) { return one / 10.0; })));
  const double part = *rc::gen::inRange(0, 101) / 100.0;
  const double found = quantile(values, part);
  const auto count = static_cast<double>(values.size());
  const auto below =
      static_cast<double>(std::ranges::count_if(values, [&](double one) { return one < found; }));
  const auto most =
      static_cast<double>(std::ranges::count_if(values, [&](double one) { return one <= found; }));
  RC_ASSERT(below <= part * count);
  RC_ASSERT(most >= part * count - 1e-9);
}

TEST(BreakEven, IsWhenAsMuchIsSavedAsWasSpent) {
  const std::vector<double> before = {3, 5}, after = {2, 3};
  // 1.5 s are saved a call, on the mean.
  EXPECT_EQ(break_even_calls(6, before, after), 4);
  EXPECT_EQ(break_even_calls(6.1, before, after), 5);
  EXPECT_EQ(break_even_calls(6, after, after), std::nullopt);
  EXPECT_EQ(break_even_calls(6, after, before), std::nullopt);
}

}  // namespace
}  // namespace weft::tune::payback_test
