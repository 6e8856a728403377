#include "plan/slice.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"
#include "tests/plan/random_slices.hpp"

namespace weft::plan::testing::slice_test {
namespace {

Slice input(std::uint64_t offset, std::uint64_t bytes) {
  return Slice::contiguous(Space::input, 0, offset, bytes);
}

RC_GTEST_PROP(SliceProperty, EqualBytesAreEqualSlices, ()) {
  const Slice a = random_slice(1);
  const Slice b = random_slice(1);
  const bool same = a.space == b.space && bytes_of(a) == bytes_of(b);
  RC_ASSERT((a == b) == same);
}

RC_GTEST_PROP(SliceProperty, BytesAndEndAreThoseOfTheList, ()) {
  const Slice slice = random_slice();
  const auto bytes = bytes_of(slice);
  RC_ASSERT(slice.bytes() == bytes.size());
  RC_ASSERT(slice.empty() == bytes.empty());
  if (!bytes.empty()) RC_ASSERT(slice.end() == std::get<2>(bytes.back()) + 1);
  RC_ASSERT(std::ranges::is_sorted(bytes));
}

RC_GTEST_PROP(SliceProperty, TextReadsBackAsItself, ()) {
  const Slice slice = random_slice(1000);
  RC_ASSERT(parse_slice(to_string(slice)) == slice);
}

RC_GTEST_PROP(SliceProperty, CoalesceKeepsTheBytesAndTheirOrder, ()) {
  std::vector<Slice> slices;
  for (auto left = number(0, 6); left > 0; --left) slices.push_back(random_slice());
  const auto joined = coalesce(slices);
  RC_ASSERT(bytes_of(joined) == bytes_of(slices));
  RC_ASSERT(joined.size() <= slices.size());
}

RC_GTEST_PROP(SliceProperty, CoalesceMakesOneSliceOfAProgression, ()) {
  const auto block = number(1, 9);
  const auto stride = block + number(0, 9);
  const auto start = number(0, 100);
  std::vector<Slice> slices;
  for (std::uint64_t i = 0, count = number(1, 20); i < count; ++i) {
    slices.push_back(input(start + i * stride, block));
    if (number(0, 3) == 0) slices.push_back(input(number(0, 9), 0));
  }
  RC_ASSERT(coalesce(slices).size() == 1u);
}

RC_GTEST_PROP(SliceProperty, CoalesceJoinsProgressionsThatContinue, ()) {
  const auto block = number(1, 9);
  const auto stride = block + number(1, 9);
  const auto first = number(1, 9);
  const auto second = number(1, 9);
  const std::vector<Slice> halves = {
      Slice::strided(Space::stage, 1, 7, block, first, stride),
      Slice::strided(Space::stage, 1, 7 + first * stride, block, second, stride)};
  RC_ASSERT(coalesce(halves) ==
            std::vector{Slice::strided(Space::stage, 1, 7, block, first + second, stride)});
}

RC_GTEST_PROP(SliceProperty, SubslicesAreAPieceOfTheBytes, ()) {
  const Slice slice = random_slice();
  const auto all = bytes_of(slice);
  const auto from = number(0, all.size());
  const auto length = number(0, all.size() - from);
  const auto parts = subslices(slice, from, length);
  RC_ASSERT(parts.size() <= 3u);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
  RC_ASSERT(bytes_of(parts) ==
            std::vector<Byte>(begin, begin + static_cast<std::ptrdiff_t>(length)));
}

RC_GTEST_PROP(SliceProperty, OverlapIsInBothAndFoundWheneverThereIsOne, ()) {
  const Slice a = random_slice(1);
  const Slice b = random_slice(1);
  const auto in_a = bytes_of(a);
  const auto in_b = bytes_of(b);
  std::vector<Byte> common;
  std::ranges::set_intersection(in_a, in_b, std::back_inserter(common));
  const auto found = overlap(a, b);
  RC_ASSERT(found.has_value() == !common.empty());
  if (!found) return;
  const auto bytes = bytes_of(*found);
  RC_ASSERT(bytes.front() == common.front());
  RC_ASSERT(std::ranges::includes(common, bytes));
}

TEST(Slice, IsCanonical) {
  const Slice empty{Space::stage, 3, 0, 0, 0, 0};
  EXPECT_EQ(Slice::contiguous(Space::stage, 3, 77, 0), empty);
  EXPECT_EQ(Slice::strided(Space::stage, 3, 77, 8, 0, 16), empty);
  const Slice block{Space::stage, 3, 16, 24, 1, 24};
  EXPECT_EQ(Slice::strided(Space::stage, 3, 16, 24, 1, 99), block);
  EXPECT_EQ(Slice::strided(Space::stage, 3, 16, 8, 3, 8), block);
}

TEST(Slice, RefusesBlocksThatOverlapAndEndsThatDoNotFit) {
  EXPECT_THROW(Slice::strided(Space::input, 0, 0, 8, 2, 7), UsageError);
  constexpr std::uint64_t kHalf = 1ull << 62;
  EXPECT_EQ(input(kHalf, kHalf).end(), 1ull << 63);
  EXPECT_THROW(input(kHalf, kHalf + 1), UsageError);
  EXPECT_THROW(input(1ull << 63, 1), UsageError);
  EXPECT_THROW(input(0, UINT64_MAX), UsageError);
  EXPECT_THROW(Slice::strided(Space::input, 0, 0, 1, UINT64_MAX, UINT64_MAX), UsageError);
  EXPECT_THROW(Slice::strided(Space::input, 0, 0, 1, 3, kHalf), UsageError);
}

TEST(Slice, RefusesSubslicesBeyondItsEnd) {
  EXPECT_THROW(subslices(input(0, 8), 4, 5), UsageError);
  EXPECT_THROW(subslices(input(0, 8), 9, 0), UsageError);
  EXPECT_THROW(subslices(input(0, 8), 1, UINT64_MAX), UsageError);
}

TEST(Slice, RefusesTextThatIsNoSliceAndSaysWhy) {
  const auto error_of = [](std::string_view text) -> std::string {
    try {
      return "read as " + to_string(parse_slice(text));
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(error_of("heap@0:0+8"),
            "slice 'heap@0:0+8': does not begin with input@, output@, stage@ or scratch@");
  EXPECT_EQ(error_of("input"),
            "slice 'input': does not begin with input@, output@, stage@ or scratch@");
  for (const char* text :
       {"input@", "input@-1:0+8", "input@0", "input@0:0", "input@0:0+", "input@0:0+8x",
        "input@0:0+8x2", "input@0:0+8x2/", "input@0:0+8 ", "input@0:0+8x2/16z",
        "input@2147483648:0+8", "input@0:99999999999999999999+8", "input@0: 0+8"}) {
    EXPECT_EQ(error_of(text), "slice '" + std::string(text) +
                                  "': not of the form SPACE@RANK:OFFSET+BYTES or "
                                  "SPACE@RANK:OFFSET+BYTESxCOUNT/STRIDE");
  }
  EXPECT_EQ(error_of("input@0:0+8x2/7"),
            "slice of 2 blocks of 8 bytes with stride 7: the stride must be at least the block");
}

}  // namespace
}  // namespace weft::plan::testing::slice_test
