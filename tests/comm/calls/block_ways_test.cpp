// In which way each block of an alltoallv travels, over sequences of any sizes.
#include "comm/irregular/block_ways.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/program/inline_messages.hpp"

namespace weft::comm::block_ways_test {
namespace {

using plan::Block;
using Row = std::vector<Block>;

constexpr std::uint64_t kMostStaged = 16384;

/// On both sides of all bounds.
rc::Gen<std::uint64_t> any_bytes() {
  return rc::gen::element<std::uint64_t>(0, 1, 8, engine::kInlineBytes, engine::kInlineBytes + 1,
                                         4000, kMostStaged, kMostStaged + 1, 100'000);
}

Row any_row(std::size_t blocks) {
  Row row(blocks);
  for (Block& block : row) block.bytes = *any_bytes();
  return row;
}

TEST(BlockWays, FollowFromTheSize) {
  EXPECT_EQ(way_of(0, kMostStaged), BlockWay::none);
  EXPECT_EQ(way_of(1, kMostStaged), BlockWay::on_signal);
  EXPECT_EQ(way_of(engine::kInlineBytes, kMostStaged), BlockWay::on_signal);
  EXPECT_EQ(way_of(engine::kInlineBytes + 1, kMostStaged), BlockWay::staged);
  EXPECT_EQ(way_of(kMostStaged, kMostStaged), BlockWay::staged);
  EXPECT_EQ(way_of(kMostStaged + 1, kMostStaged), BlockWay::straight);
  EXPECT_EQ(way_of(65, 64), BlockWay::straight);
}

RC_GTEST_PROP(BlockWays, TakeTheBytesThatThereAre, ()) {
  const bool holds = *rc::gen::arbitrary<bool>().as("holds");
  BlockWays ways(kMostStaged, holds);
  std::vector<BlockWay> last(4, BlockWay::none);
  for (int call = 0; call < 40; ++call) {
    const Row row = any_row(4);
    const bool has_changed = ways.begin_call(row, true);
    const auto now = ways.ways();
    RC_ASSERT(has_changed == !std::ranges::equal(last, now));
    last.assign(now.begin(), now.end());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const BlockWay needed = way_of(row[i].bytes, kMostStaged);
      RC_ASSERT(now[i] >= needed);
      RC_ASSERT(holds || now[i] == needed);
    }
    const Row shape = ways.shape();
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      RC_ASSERT(way_of(shape[i].bytes, kMostStaged) == now[i]);
      RC_ASSERT(shape[i].offset >= end);
      end = shape[i].offset + shape[i].bytes;
    }
  }
}

/// A rank whose row stays as it is says so; the other end of one of its blocks may have another.
RC_GTEST_PROP(BlockWays, AreTheSameAtBothEndsOfABlock, ()) {
  BlockWays sender(kMostStaged, true), receiver(kMostStaged, true);
  std::uint64_t bytes = 0;
  Row others(2);
  for (int call = 0; call < 400; ++call) {
    const bool changes = *rc::gen::inRange(0, 4) == 0;
    if (changes) bytes = *any_bytes();
    // Each has two other blocks, which have nothing to do with those of the other.
    const bool others_change = *rc::gen::arbitrary<bool>();
    if (others_change) others = any_row(2);
    sender.begin_call(Row{{0, bytes}, others[0], others[1]}, changes || others_change);
    receiver.begin_call(Row{{0, 7}, {0, 0}, {0, bytes}}, changes);
    RC_ASSERT(sender.ways()[0] == receiver.ways()[2]);
  }
}

RC_GTEST_PROP(BlockWays, ChangeSeldomWhateverTheSizes, ()) {
  constexpr int kCalls = 3000;
  const auto often = *any_bytes(), seldom = *any_bytes();
  const auto one_in = *rc::gen::inRange(2, 200);
  BlockWays ways(kMostStaged, true);
  int changes = 0;
  for (int call = 0; call < kCalls; ++call) {
    changes += ways.begin_call(Row{{0, call % one_in == 0 ? seldom : often}}, true) ? 1 : 0;
  }
  // Three falls after few calls, all later ones after 512, and a rise to each.
  RC_ASSERT(changes <= 2 * (3 + kCalls / 512) + 1);
}

TEST(BlockWays, FallAtOnceTheFirstTime) {
  BlockWays ways(kMostStaged, true);
  for (const std::uint64_t bytes : {100'000, 8}) ways.begin_call(Row{{0, bytes}}, true);
  EXPECT_EQ(ways.ways()[0], BlockWay::on_signal);
  EXPECT_TRUE(ways.begin_call(Row{{0, 4000}}, true));
  EXPECT_EQ(ways.ways()[0], BlockWay::staged);
  // Then after 8 calls, whether its size changes in them or not.
  for (int call = 0; call < 8; ++call) {
    EXPECT_FALSE(ways.begin_call(Row{{0, 8}}, call == 0));
    EXPECT_EQ(ways.ways()[0], BlockWay::staged);
  }
  EXPECT_TRUE(ways.begin_call(Row{{0, 8}}, false));
  EXPECT_EQ(ways.ways()[0], BlockWay::on_signal);
}

}  // namespace
}  // namespace weft::comm::block_ways_test
