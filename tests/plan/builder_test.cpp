#include "plan/builder.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "tests/plan/random_slices.hpp"

namespace weft::plan::testing::builder_test {
namespace {

Slice input(std::uint64_t offset, std::uint64_t bytes) {
  return Slice::contiguous(Space::input, 1, offset, bytes);
}
Slice output(std::uint64_t offset, std::uint64_t bytes) {
  return Slice::contiguous(Space::output, 1, offset, bytes);
}

RC_GTEST_PROP(Builder, NamesWhatAnOpFollowsOnceAndInOrder, ()) {
  const int count = *rc::gen::inRange(1, 400);
  const auto ids = *rc::gen::container<std::vector<OpId>>(
      *rc::gen::inRange<std::size_t>(0, 300), rc::gen::inRange<OpId>(0, static_cast<OpId>(count)));
  Builder builder(1, 4, 64, 64);
  for (int i = 0; i < count; ++i) builder.wait(0);
  const std::set<OpId> expected(ids.begin(), ids.end());
  // Twice: what the first leaves behind must not show.
  builder.signal(0, ids);
  builder.signal(0, {});
  builder.signal(0, ids);
  const Plan plan = std::move(builder).finish();
  const auto all = static_cast<OpId>(count);
  for (const OpId id : {all, all + 2}) {
    RC_ASSERT(std::ranges::equal(plan.after(id), expected));
  }
  RC_ASSERT(plan.after(all + 1).empty());
}

TEST(Builder, RefusesWhatNoPlanMaySay) {
  const auto error_of = [](const std::function<void(Builder&)>& add) -> std::string {
    Builder builder(1, 4, 64, 64);
    builder.copy(output(0, 8), input(0, 8));
    try {
      add(builder);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing";
  };
  for (const int peer : {-1, 4, 1}) {
    const std::string expected =
        "plan of rank 1 of 4: peer " + std::to_string(peer) + " is not another of its ranks";
    EXPECT_EQ(error_of([&](Builder& b) { b.send(peer, input(0, 8)); }), expected);
    EXPECT_EQ(error_of([&](Builder& b) { b.recv(peer, output(0, 8)); }), expected);
    EXPECT_EQ(error_of([&](Builder& b) { b.signal(peer); }), expected);
    EXPECT_EQ(error_of([&](Builder& b) { b.wait(peer); }), expected);
  }
  EXPECT_EQ(error_of([](Builder& b) { b.copy(output(0, 8), input(0, 9)); }),
            "9 bytes of input@1:0+9 into 8 bytes of output@1:0+8: sizes must be equal");
  EXPECT_EQ(error_of([](Builder& b) { b.reduce(output(0, 8), input(0, 0), Operand::left); }),
            "0 bytes of input@1:0+0 into 8 bytes of output@1:0+8: sizes must be equal");
  EXPECT_EQ(error_of([](Builder& b) {
              b.signal(2, {0, 1});
            }),
            "plan of rank 1: op 1 cannot follow op 1, which does not come before it");
}

TEST(Builder, RefusesRanksThatAreNotThere) {
  EXPECT_THROW(Builder(4, 4, 0, 0), UsageError);
  EXPECT_THROW(Builder(-1, 4, 0, 0), UsageError);
  EXPECT_THROW(Builder(0, 0, 0, 0), UsageError);
}

TEST(Builder, LeavesOutWhatMovesNothingAndKeepsDependenciesSorted) {
  Builder builder(1, 4, 64, 64);
  const OpId first = builder.copy(output(0, 8), input(0, 8));
  EXPECT_EQ(builder.send(2, input(0, 0)), kNoOp);
  EXPECT_EQ(builder.recv(2, output(0, 0)), kNoOp);
  EXPECT_EQ(builder.copy(output(0, 8), output(0, 8)), kNoOp);
  EXPECT_EQ(builder.reduce(output(0, 0), input(0, 0), Operand::left), kNoOp);
  const OpId second = builder.wait(0);
  const OpId third = builder.signal(0, {second, kNoOp, first, second});
  const Plan plan = std::move(builder).finish();
  EXPECT_EQ(plan.ops().size(), 3u);
  const auto after = plan.after(third);
  EXPECT_EQ(std::vector(after.begin(), after.end()), (std::vector<OpId>{first, second}));
}

TEST(Builder, HandsOutAlignedMemoryThatDoesNotOverlap) {
  Builder builder(1, 4, 64, 64);
  const Slice a = builder.allocate_stage(1);
  const Slice b = builder.allocate_stage(65);
  const Slice c = builder.allocate_scratch(8);
  EXPECT_EQ(a, Slice::contiguous(Space::stage, 1, 0, 1));
  EXPECT_EQ(b, Slice::contiguous(Space::stage, 1, 64, 65));
  EXPECT_EQ(c, Slice::contiguous(Space::scratch, 1, 0, 8));
  const Plan plan = std::move(builder).finish();
  EXPECT_EQ(plan.space_bytes(Space::stage), 192u);
  EXPECT_EQ(plan.space_bytes(Space::scratch), 64u);
}

/// The bytes that the copies of a plan move: (target, source).
std::vector<std::pair<Byte, Byte>> moves_of(const Plan& plan) {
  std::vector<std::pair<Byte, Byte>> moves;
  for (const Op& op : plan.ops()) {
    const auto targets = bytes_of(op.dst);
    const auto sources = bytes_of(op.src);
    for (std::size_t i = 0; i < targets.size(); ++i) moves.emplace_back(targets[i], sources[i]);
  }
  return moves;
}

RC_GTEST_PROP(BuilderProperty, GatherAndScatterMoveEveryByteToItsPlace, ()) {
  std::vector<Slice> pieces;
  for (auto left = number(0, 6); left > 0; --left) pieces.push_back(random_slice());
  const auto scattered = bytes_of(pieces);
  const auto block = number(1, 3);
  const auto count = scattered.size() / block;
  RC_PRE(count * block == scattered.size());
  // Far from the pieces, so that no copy is one onto itself.
  const Slice whole = Slice::strided(Space::scratch, 0, 10000, block, count, block + 1);
  const auto packed = bytes_of(whole);
  std::vector<std::pair<Byte, Byte>> gathered_moves;
  std::vector<std::pair<Byte, Byte>> scattered_moves;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    gathered_moves.emplace_back(packed[i], scattered[i]);
    scattered_moves.emplace_back(scattered[i], packed[i]);
  }
  Builder gather(0, 2, 0, 0);
  Builder scatter(0, 2, 0, 0);
  std::vector<OpId> done;
  gather.gather(whole, pieces, {}, done);
  const auto gathers = done.size();
  scatter.scatter(pieces, whole, {}, done);
  const Plan gathering = std::move(gather).finish();
  RC_ASSERT(gathers == gathering.ops().size());
  RC_ASSERT(moves_of(gathering) == gathered_moves);
  RC_ASSERT(moves_of(std::move(scatter).finish()) == scattered_moves);
}

TEST(Builder, GathersColumnsWithOneCopy) {
  Builder builder(1, 4, 64, 64);
  std::vector<Slice> columns;
  for (std::uint64_t i = 0; i < 4; ++i) columns.push_back(input(i * 16, 4));
  std::vector<OpId> done;
  builder.gather(output(0, 16), columns, {}, done);
  EXPECT_EQ(done, std::vector<OpId>{0});
}

}  // namespace
}  // namespace weft::plan::testing::builder_test
