// Families, and what their verifier finds that members show at neither end.
#include "plan/family.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "plan/builder.hpp"
#include "plan/verify/verify_family.hpp"

namespace weft::plan::family_test {
namespace {

/// A rank alone, with a broadcast of blocks of two units, and what `add` puts into its plan.
Family family_of(const std::function<void(Builder&, const Extent&)>& add) {
  const auto plan_at = [&](std::uint64_t tail) {
    const Extent extent{kSampleUnit, tail};
    Builder builder(0, 1, 2 * extent.unit - tail, 0);
    add(builder, extent);
    return std::move(builder).finish();
  };
  const auto family = Family::of(plan_at(kSampleTails[0]), plan_at(kSampleTails[1]));
  if (!family) throw std::runtime_error("no family");
  return *family;
}

std::vector<Finding> verify_alone(const Family& family) {
  const auto problem_at = [](const Extent& extent) {
    return Problem{Collective::broadcast, 1, 2 * extent.unit - extent.tail,
                   2 * extent.unit - extent.tail};
  };
  const int node = 0;
  return verify_family(problem_at, 2, {&node, 1}, {&family, 1});
}

Slice scratch(std::uint64_t offset, std::uint64_t bytes) {
  return Slice::contiguous(Space::scratch, 0, offset, bytes);
}
Slice input(std::uint64_t bytes) {
  return Slice::contiguous(Space::input, 0, 0, bytes);
}

TEST(Families, HaveTheNumbersOfEachSize) {
  const Family family = family_of([](Builder& builder, const Extent& extent) {
    builder.allocate_scratch(64 * 7 * kSampleUnit);
    const std::uint64_t last = extent.unit - extent.tail;
    builder.copy(scratch(5 * extent.unit - 2 * extent.tail, last), input(last));
  });
  const Plan plan = family.at({100, 30});
  EXPECT_EQ(plan.input_bytes(), 170u);
  EXPECT_EQ(plan.ops()[0].dst, scratch(440, 70));
  EXPECT_EQ(plan.ops()[0].src, input(70));
  EXPECT_EQ(family.in_larger_units(1).at({7, 3}), family.at({7, 3}));
}

TEST(Families, AreOfOneShape) {
  Builder one(0, 2, 64, 0);
  one.send(1, input(64));
  Builder other(0, 2, 64, 0);
  other.recv(1, Slice::contiguous(Space::scratch, 0, 0, 64));
  EXPECT_FALSE(Family::of(std::move(one).finish(), std::move(other).finish()));
}

TEST(Families, HaveNoNumbersThatDoNotFollowFromTheSize) {
  const auto plan_with = [](std::uint64_t bytes) {
    Builder builder(0, 1, 2 * kSampleUnit, 0);
    builder.allocate_scratch(64);
    builder.copy(scratch(0, bytes), input(bytes));
    return std::move(builder).finish();
  };
  EXPECT_FALSE(Family::of(plan_with(64), plan_with(64)));
}

// Both copies are apart for the shortest tails and for the longest, and meet between.
TEST(Families, WhoseAccessesPassOneAnotherAreFound) {
  const auto copies = [](bool crosses) {
    return family_of([crosses](Builder& builder, const Extent& extent) {
      builder.allocate_scratch(64 * 8 * kSampleUnit);
      const std::uint64_t base = crosses ? 0 : 4 * extent.unit;
      builder.copy(scratch(base + 2 * extent.tail, extent.tail), input(extent.tail));
      const std::uint64_t rest = extent.unit - extent.tail;
      builder.copy(scratch(extent.unit, rest), input(rest));
    });
  };
  EXPECT_TRUE(verify_alone(copies(false)).empty());
  for (const Extent extent : {Extent{100, 1}, Extent{100, 99}, Extent{100, 0}}) {
    const Plan plan = copies(true).at(extent);
    const Problem problem{Collective::broadcast, 1, 200 - extent.tail, 200 - extent.tail};
    const int node = 0;
    EXPECT_TRUE(verify(problem, {&node, 1}, {&plan, 1}).empty()) << extent.tail;
  }
  const auto findings = verify_alone(copies(true));
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().flaw, Flaw::order);
}

// What is read last is of one piece for short tails and of two for long ones, which no end of an
// access shows: the pieces have come with a copy of both.
TEST(Families, WhosePiecesChangeAreFound) {
  const Family family = family_of([](Builder& builder, const Extent& extent) {
    builder.allocate_scratch(64 * 20 * kSampleUnit);
    const std::uint64_t block = 2 * extent.unit - extent.tail;
    const std::uint64_t both = extent.unit + block;
    const auto first = builder.copy(scratch(0, extent.unit), input(extent.unit));
    const auto second = builder.copy(scratch(extent.unit, block), input(block), first);
    const auto third = builder.copy(scratch(8 * extent.unit, both), scratch(0, both), second);
    builder.copy(scratch(16 * extent.unit, 2 * extent.tail),
                 scratch(8 * extent.unit, 2 * extent.tail), third);
  });
  const auto findings = verify_alone(family);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().flaw, Flaw::order);
  EXPECT_NE(findings.front().detail.find("pieces"), std::string::npos);
}

RC_GTEST_PROP(Families, ExtentsAreOfTheSize, ()) {
  const auto element = *rc::gen::element<std::uint64_t>(1, 2, 8, 12);
  const auto bytes = element * *rc::gen::inRange<std::uint64_t>(1, 10'000).as("elements");
  const int units = *rc::gen::inRange(1, 70).as("units");
  const auto extent = extent_of(bytes, element, units);
  const auto count = static_cast<std::uint64_t>(units);
  // Few enough units that all have something always have an extent.
  if (bytes / element > count * (count - 1)) RC_ASSERT(extent.has_value());
  if (!extent) return;
  RC_ASSERT(count * extent->unit - extent->tail == bytes);
  RC_ASSERT(extent->tail < extent->unit);
  RC_ASSERT(extent->unit % element == 0u);
}

}  // namespace
}  // namespace weft::plan::family_test
