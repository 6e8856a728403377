// Folds: the reductions that become one pass over their operands.
#include "engine/program/folds.hpp"

#include <gtest/gtest.h>

#include "plan/builder.hpp"

namespace weft::engine::folds_test {
namespace {

using plan::Operand;
using plan::OpId;
using plan::Slice;
using plan::Space;

constexpr std::uint64_t kBytes = 64 << 10;

Slice input(int rank, std::uint64_t bytes = kBytes) {
  return Slice::contiguous(Space::input, rank, 0, bytes);
}
Slice output(std::uint64_t bytes = kBytes) {
  return Slice::contiguous(Space::output, 0, 0, bytes);
}

plan::Builder four_ranks() {
  return plan::Builder(0, 4, kBytes, kBytes);
}

TEST(Folds, AreACopyAndTheReductionsThatFollow) {
  plan::Builder builder = four_ranks();
  OpId last = builder.copy(output(), input(0));
  for (int rank = 1; rank < 4; ++rank) {
    const OpId there = builder.wait(rank);
    last = builder.reduce(output(), input(rank), Operand::left, {last, there});
  }
  for (int rank = 1; rank < 4; ++rank) builder.signal(rank, {last});
  EXPECT_EQ(find_folds(std::move(builder).finish()), (std::vector<Fold>{{0, 2, 4, 6}}));
}

TEST(Folds, EndAtAResultThatAnotherOpNeeds) {
  plan::Builder builder = four_ranks();
  const OpId first = builder.copy(output(), input(0));
  const OpId second = builder.reduce(output(), input(1), Operand::left, {first});
  // The signal must not be delayed: the wait of the next reduction may depend on it.
  const OpId told = builder.signal(1, {second});
  const OpId there = builder.wait(2, {told});
  builder.reduce(output(), input(2), Operand::left, {second, there});
  EXPECT_EQ(find_folds(std::move(builder).finish()), (std::vector<Fold>{{0, 1}}));
}

TEST(Folds, NeedTheLeftOperandAndTheSameBytes) {
  plan::Builder builder = four_ranks();
  const OpId first = builder.copy(output(), input(0));
  builder.reduce(output(), input(1), Operand::right, {first});
  EXPECT_TRUE(find_folds(std::move(builder).finish()).empty());

  plan::Builder other = four_ranks();
  const OpId whole = other.copy(output(), input(0));
  other.reduce(output(kBytes / 2), input(1, kBytes / 2), Operand::left, {whole});
  EXPECT_TRUE(find_folds(std::move(other).finish()).empty());
}

TEST(Folds, MayBeginWithAReduction) {
  plan::Builder builder = four_ranks();
  const OpId first = builder.reduce(output(), input(1), Operand::left);
  builder.reduce(output(), input(2), Operand::left, {first});
  EXPECT_EQ(find_folds(std::move(builder).finish()), (std::vector<Fold>{{0, 1}}));
}

TEST(Folds, AreNotMadeForFewBytes) {
  plan::Builder builder = four_ranks();
  const OpId first = builder.copy(output(8), input(0, 8));
  builder.reduce(output(8), input(1, 8), Operand::left, {first});
  EXPECT_TRUE(find_folds(std::move(builder).finish()).empty());
}

}  // namespace
}  // namespace weft::engine::folds_test
