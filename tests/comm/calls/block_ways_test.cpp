// In which way each block of an alltoallv travels, over sequences of any sizes.
#include "comm/irregular/block_ways.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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
  for (int call = 0; call < 40; ++call) {
    const Row row = any_row(4);
    ways.change_to(row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const BlockWay needed = way_of(row[i].bytes, kMostStaged);
      RC_ASSERT(ways.ways()[i] >= needed);
      RC_ASSERT(holds || ways.ways()[i] == needed);
    }
    const Row shape = ways.shape();
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      RC_ASSERT(way_of(shape[i].bytes, kMostStaged) == ways.ways()[i]);
      RC_ASSERT(shape[i].offset >= end);
      end = shape[i].offset + shape[i].bytes;
    }
  }
}

/// A rank whose row stays as it is does not look at it; the other end of one of its blocks may.
RC_GTEST_PROP(BlockWays, AreTheSameAtBothEndsOfABlock, ()) {
  BlockWays sender(kMostStaged, true), receiver(kMostStaged, true);
  std::uint64_t bytes = 0;
  for (int call = 0; call < 200; ++call) {
    const std::uint64_t before = bytes;
    bytes = *any_bytes();
    // Each has two other blocks, which have nothing to do with those of the other.
    if (bytes != before) sender.change_to(Row{{0, bytes}, {0, *any_bytes()}, {0, *any_bytes()}});
    receiver.change_to(Row{{0, *any_bytes()}, {0, *any_bytes()}, {0, bytes}});
    const auto sent = sender.ways();
    RC_ASSERT((sent.empty() ? BlockWay::none : sent[0]) == receiver.ways()[2]);
  }
}

RC_GTEST_PROP(BlockWays, ChangeSeldomWhateverTheSizes, ()) {
  constexpr int kCalls = 3000;
  const auto often = *any_bytes(), seldom = *any_bytes();
  const auto one_in = *rc::gen::inRange(2, 200);
  BlockWays ways(kMostStaged, true);
  int changes = 0;
  BlockWay last = BlockWay::none;
  for (int call = 0; call < kCalls; ++call) {
    ways.change_to(Row{{0, call % one_in == 0 ? seldom : often}});
    changes += ways.ways()[0] != last ? 1 : 0;
    last = ways.ways()[0];
  }
  // Three falls after few sizes, all later ones after 512, and a rise to each.
  RC_ASSERT(changes <= 2 * (3 + kCalls / 512) + 1);
}

TEST(BlockWays, FallAtOnceTheFirstTime) {
  BlockWays ways(kMostStaged, true);
  for (const std::uint64_t bytes : {100'000, 8, 9}) ways.change_to(Row{{0, bytes}});
  EXPECT_EQ(ways.ways()[0], BlockWay::on_signal);
  // From then on only where shorter sizes come again and again.
  for (const std::uint64_t bytes : {4000, 8, 9}) ways.change_to(Row{{0, bytes}});
  EXPECT_EQ(ways.ways()[0], BlockWay::staged);
  for (std::uint64_t bytes = 10; bytes < 17; ++bytes) ways.change_to(Row{{0, bytes}});
  EXPECT_EQ(ways.ways()[0], BlockWay::on_signal);
}

}  // namespace
}  // namespace weft::comm::block_ways_test
