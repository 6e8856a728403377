// Copies and reductions: from caches, from memory, from bytes that the adapter has just written.
#include <gtest/gtest.h>

#include "tests/sim/support.hpp"

namespace weft::sim::memory_test {
namespace {

using hierarchy::Machine;

Hardware with_memory() {
  Hardware hardware = bare_hardware();
  hardware.node.copy_start_ns = 20;
  hardware.node.cached_bytes_per_ns = 4;
  hardware.node.memory_bytes_per_ns = 2;
  hardware.node.fresh_bytes_per_ns = 1;
  hardware.node.reduce_bytes_per_ns = 0.5;
  return hardware;
}

PlanSource copies(int ranks, std::uint64_t bytes, std::uint64_t buffer_bytes = 1 << 20) {
  return plans_by(
      ranks,
      [=](plan::Builder& builder) {
        builder.copy(output(builder.rank(), bytes), input(builder.rank(), bytes));
      },
      buffer_bytes);
}

TEST(Copy, IsFromTheCacheWhereAllBuffersFitIntoIt) {
  const Machine one = Machine::uniform(1, 1);
  Hardware hardware = with_memory();
  EXPECT_DOUBLE_EQ(simulate(copies(1, 1000), one, hardware).time_ns, 20 + 250);
  hardware.node.cache_bytes = (1 << 21) - 1;  // a byte less than input and output
  EXPECT_DOUBLE_EQ(simulate(copies(1, 1000), one, hardware).time_ns, 20 + 500);
}

TEST(Copy, PaysForEachBlock) {
  const auto plans = plans_by(1, [](plan::Builder& builder) {
    builder.copy(output(0, 1000), plan::Slice::strided(plan::Space::input, 0, 0, 100, 10, 200));
  });
  EXPECT_DOUBLE_EQ(simulate(plans, Machine::uniform(1, 1), with_memory()).time_ns, 10 * 20 + 250);
}

TEST(Copy, OfBytesThatTheAdapterWroteIsSlowOnce) {
  const auto plans = plans_by(2, [](plan::Builder& builder) {
    if (builder.rank() == 0) builder.send(1, input(0, 1000));
    if (builder.rank() == 1) {
      const auto come = builder.recv(0, output(1, 1000));
      const auto first = builder.copy(output(1, 1000, 2000), output(1, 1000), come);
      builder.copy(output(1, 1000, 4000), output(1, 1000), first);
    }
  });
  EXPECT_DOUBLE_EQ(simulate(plans, Machine::uniform(2, 1), with_memory()).time_ns,
                   1000 + 1000 + (20 + 1000) + (20 + 250));
}

TEST(Copy, FindsRecentlyWrittenBytesInTheCache) {
  Hardware hardware = with_memory();
  hardware.node.copy_start_ns = 0;
  hardware.node.cache_bytes = 64 << 10;
  const auto again_after = [&](std::uint64_t others) {
    const auto plans = plans_by(1, [=](plan::Builder& builder) {
      auto last = builder.copy(output(0, 1000), input(0, 1000));
      last = builder.copy(output(0, others, 100'000), input(0, others, 100'000), last);
      builder.copy(output(0, 1000, 50'000), output(0, 1000), last);
    });
    return simulate(plans, Machine::uniform(1, 1), hardware).time_ns - 500 -
           static_cast<double>(others) / 2;
  };
  EXPECT_DOUBLE_EQ(again_after(1000), 250);
  EXPECT_DOUBLE_EQ(again_after(200'000), 500);
}

TEST(Copy, OfBlocksThatTheAdapterWroteLeavesTheirNeighboursSlow) {
  // Two copies, of the even and the odd blocks: one does not fetch the other's into the cache.
  const auto plans = plans_by(2, [](plan::Builder& builder) {
    if (builder.rank() == 0) builder.send(1, input(0, 2000));
    if (builder.rank() != 1) return;
    auto last = builder.recv(0, output(1, 2000));
    for (const std::uint64_t first : {0, 100}) {
      const auto blocks = plan::Slice::strided(plan::Space::output, 1, first, 100, 10, 200);
      last = builder.copy(output(1, 1000, 4000 + 10 * first), blocks, last);
    }
  });
  EXPECT_DOUBLE_EQ(simulate(plans, Machine::uniform(2, 1), with_memory()).time_ns,
                   2000 + 1000 + 2 * (10 * 20 + 1000));
}

TEST(Copy, ToBytesThatTheAdapterReadIsSlow) {
  // The state after the previous call; where the core stores the message, it stays cached.
  const auto plans = plans_by(2, [](plan::Builder& builder) {
    if (builder.rank() == 1) builder.recv(0, output(1, 1000));
    if (builder.rank() != 0) return;
    const auto ready = builder.copy(output(0, 1000), input(0, 1000));
    builder.send(1, output(0, 1000), ready);
  });
  Hardware hardware = with_memory();
  EXPECT_DOUBLE_EQ(simulate(plans, Machine::uniform(2, 1), hardware).time_ns,
                   (20 + 1000) + 1000 + 1000);
  hardware.adapter.pio_bytes = 1000;
  EXPECT_DOUBLE_EQ(simulate(plans, Machine::uniform(2, 1), hardware).time_ns,
                   (20 + 250) + 1000 + 1000);
}

TEST(Memory, IsSharedByTheCoresOfANode) {
  Hardware hardware = with_memory();
  hardware.node.copy_start_ns = 0;
  hardware.node.cache_bytes = 0;
  hardware.node.total_bytes_per_ns = 4;  // two cores' worth
  const auto time = [&](int ranks) {
    return simulate(copies(ranks, 1000), Machine::uniform(1, ranks), hardware).time_ns;
  };
  EXPECT_DOUBLE_EQ(time(1), 500);
  EXPECT_DOUBLE_EQ(time(2), 500);
  EXPECT_DOUBLE_EQ(time(8), 8 * 1000 / 4.0);
}

TEST(Memory, IsSharedByAdapterAndCores) {
  Hardware hardware = with_memory();
  hardware.node.copy_start_ns = 0;
  hardware.node.cache_bytes = 0;
  hardware.node.total_bytes_per_ns = 2;
  constexpr std::uint64_t kBytes = 1 << 20;
  const auto plans = [&](bool message) {
    return plans_by(2, [=](plan::Builder& builder) {
      if (message && builder.rank() == 0) builder.send(1, input(0, kBytes));
      if (message && builder.rank() == 1) builder.recv(0, output(1, kBytes));
      if (builder.rank() == 1) builder.copy(output(1, kBytes, kBytes), input(1, kBytes));
    });
  };
  const Machine machine = Machine::uniform(2, 1);
  const double alone = simulate(plans(false), machine, hardware).time_ns;
  const double together = simulate(plans(true), machine, hardware).time_ns;
  EXPECT_DOUBLE_EQ(alone, kBytes / 2.0);
  EXPECT_GT(together, kBytes);
}

TEST(Reduce, TakesItsRateAndNoLessThanReading) {
  const auto plans = plans_by(1, [](plan::Builder& builder) {
    builder.reduce(output(0, 1000), input(0, 1000), plan::Operand::left);
  });
  Hardware hardware = with_memory();
  EXPECT_DOUBLE_EQ(simulate(plans, Machine::uniform(1, 1), hardware).time_ns, 2000);
  hardware.node.reduce_bytes_per_ns = 100;
  EXPECT_DOUBLE_EQ(simulate(plans, Machine::uniform(1, 1), hardware).time_ns, 250);
}

}  // namespace
}  // namespace weft::sim::memory_test
