// Closed forms of messages between two nodes and inside one.
#include <gtest/gtest.h>

#include "tests/sim/support.hpp"

namespace weft::sim::message_test {
namespace {

using hierarchy::Machine;

double time_of(const PlanSource& plans, const Machine& machine, const Hardware& hardware) {
  return simulate(plans, machine, hardware).time_ns;
}

const Machine kTwoNodes = Machine::uniform(2, 1);

TEST(Message, FetchedByTheAdapterTakesPostStartWireHopLatencyAndPoll) {
  Hardware hardware = bare_hardware();
  hardware.adapter.post_ns = 100;
  hardware.adapter.poll_ns = 70;
  hardware.adapter.dma_start_ns = 300;
  hardware.fabric.hop_ns = 40;
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 500), kTwoNodes, hardware),
                   100 + 300 + 500 + 40 + 1000 + 70);
}

TEST(Message, StoredByTheCoreLeavesAsItIsStored) {
  Hardware hardware = bare_hardware();
  hardware.adapter.post_ns = 100;
  hardware.adapter.pio_bytes = 512;
  hardware.adapter.pio_bytes_per_ns = 0.5;
  hardware.adapter.dma_start_ns = 300;
  const Result result = simulate(stream(2, 1, 500), kTwoNodes, hardware);
  EXPECT_DOUBLE_EQ(result.time_ns, 100 + 1000 + 1000);
  EXPECT_DOUBLE_EQ(result.finish_ns[0], 100 + 1000);  // busy until all is stored
  // One byte above pio_bytes the adapter fetches it, and the sender is free earlier.
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 513), kTwoNodes, hardware), 100 + 300 + 513 + 1000);
}

// Up to eager_bytes a message is copied together by its sender and apart by its receiver.
TEST(Message, OfStridedBlocksTakesACopysStartForEachFurtherBlockOnEachSide) {
  Hardware hardware = bare_hardware();
  hardware.adapter.eager_bytes = 999;
  hardware.node.copy_start_ns = 20;
  const auto message = [&](std::uint64_t from, std::uint64_t to) {
    const auto plans = plans_by(2, [=](plan::Builder& builder) {
      const auto blocks = [&](plan::Space space, std::uint64_t count) {
        return plan::Slice::strided(space, builder.rank(), 0, 240 / count, count, 300);
      };
      if (builder.rank() == 0) builder.send(1, blocks(plan::Space::input, from));
      if (builder.rank() == 1) builder.recv(0, blocks(plan::Space::output, to));
    });
    return time_of(plans, kTwoNodes, hardware);
  };
  EXPECT_DOUBLE_EQ(message(1, 1), 240 + 1000);
  EXPECT_DOUBLE_EQ(message(6, 1), 240 + 1000 + 5 * 20);
  EXPECT_DOUBLE_EQ(message(1, 4), 240 + 1000 + 3 * 20);
  EXPECT_DOUBLE_EQ(message(6, 4), 240 + 1000 + 8 * 20);
}

TEST(Message, AboveEagerBytesWaitsForItsReceiverARoundTripMore) {
  Hardware hardware = bare_hardware();
  hardware.adapter.eager_bytes = 999;
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 999), kTwoNodes, hardware), 999 + 1000);
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 1000), kTwoNodes, hardware), 1000 + 3 * 1000);
  hardware.adapter.post_ns = 100;
  hardware.adapter.poll_ns = 70;
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 1000), kTwoNodes, hardware),
                   100 + 1000 + 70 + 1000 + 100 + 1000 + 1000 + 70);
}

TEST(Message, AboveEagerBytesWaitsForALateReceiver) {
  Hardware hardware = bare_hardware();
  hardware.adapter.eager_bytes = 0;
  hardware.node.cached_bytes_per_ns = 1;
  const auto plans = plans_by(2, [](plan::Builder& builder) {
    if (builder.rank() == 0) builder.send(1, input(0, 100));
    if (builder.rank() == 1) {
      const auto late = builder.copy(output(1, 5000, 5000), input(1, 5000));
      builder.recv(0, output(1, 100), late);
    }
  });
  EXPECT_DOUBLE_EQ(time_of(plans, kTwoNodes, hardware), 5000 + 1000 + 100 + 1000);
}

// The receiver announces itself first: the sender waits one latency, then posts the message and the
// notice of its end.
TEST(Message, AboveEagerBytesFollowsItsReceiversAnnouncement) {
  Hardware hardware = bare_hardware();
  hardware.adapter.eager_bytes = 999;
  hardware.adapter.receiver_first = true;
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 999), kTwoNodes, hardware), 999 + 1000);
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 1000), kTwoNodes, hardware), 1000 + 1000 + 1000);
  hardware.adapter.post_ns = 100;
  hardware.adapter.poll_ns = 70;
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 1000), kTwoNodes, hardware),
                   100 + 1000 + 2 * 100 + 1000 + 1000 + 70);
}

TEST(Message, DoesNotWaitForAnAnnouncementThatCameEarlier) {
  Hardware hardware = bare_hardware();
  hardware.adapter.eager_bytes = 0;
  hardware.adapter.receiver_first = true;
  hardware.node.cached_bytes_per_ns = 1;
  const auto plans = plans_by(2, [](plan::Builder& builder) {
    if (builder.rank() == 1) builder.recv(0, output(1, 100));
    if (builder.rank() == 0) {
      const auto late = builder.copy(output(0, 5000, 5000), input(0, 5000));
      builder.send(1, input(0, 100, 10000), late);
    }
  });
  EXPECT_DOUBLE_EQ(time_of(plans, kTwoNodes, hardware), 5000 + 100 + 1000);
}

TEST(Message, IntoACallersMemoryCostsMoreForEachOfItsBlocks) {
  Hardware hardware = bare_hardware();
  hardware.adapter.eager_bytes = 100;
  hardware.adapter.receiver_first = true;
  hardware.adapter.pio_bytes = Adapter::kAllSizes;
  hardware.adapter.pio_bytes_per_ns = 10;
  hardware.adapter.into_caller_ns = 400;
  hardware.adapter.into_caller_bytes_per_ns = 0.5;
  const auto to = [](plan::Space space) {
    return plans_by(2, [space](plan::Builder& builder) {
      const auto blocks = [&](plan::Slice slice) {
        return plan::Slice::strided(slice.space, slice.owner, slice.offset, 500, 2, 1000);
      };
      const auto scratch = builder.allocate_scratch(2000);
      if (builder.rank() == 0) builder.send(1, input(0, 1000));
      if (builder.rank() == 1) {
        builder.recv(0, blocks(space == plan::Space::scratch ? scratch : output(1, 2000)));
      }
    });
  };
  // On a wire of a byte per nanosecond, from the arrival of the receiver's announcement.
  EXPECT_DOUBLE_EQ(time_of(to(plan::Space::scratch), kTwoNodes, hardware), 1000 + 1000 + 1000);
  EXPECT_DOUBLE_EQ(time_of(to(plan::Space::output), kTwoNodes, hardware),
                   1000 + 2 * 400 + 1000 / 0.5 + 1000);
  // Messages through the library's own memory are not affected.
  hardware.adapter.eager_bytes = 1000;
  EXPECT_DOUBLE_EQ(time_of(to(plan::Space::output), kTwoNodes, hardware), 1000 + 1000);
}

TEST(Message, UpToEagerBytesIsCopiedIntoPlace) {
  Hardware hardware = bare_hardware();
  hardware.adapter.eager_bytes = 1000;
  hardware.adapter.take_bytes_per_ns = 2;
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 1000), kTwoNodes, hardware), 1000 + 1000 + 500);
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 1001), kTwoNodes, hardware), 1001 + 3 * 1000);
}

TEST(Copy, OfANeighboursMemoryIsASystemCallUnlessItIsShared) {
  Hardware hardware = bare_hardware();
  hardware.node.cached_bytes_per_ns = 10;
  hardware.node.call_ns = 700;
  hardware.node.call_bytes_per_ns = 2;
  const auto from = [](plan::Space space) {
    return plans_by(2, [space](plan::Builder& builder) {
      builder.allocate_stage(1000);
      if (builder.rank() == 1) return;
      const auto theirs = plan::Slice::contiguous(space, 1, 0, 1000);
      builder.copy(output(0, 1000), space == plan::Space::scratch ? input(0, 1000) : theirs);
    });
  };
  const Machine node = Machine::uniform(1, 2);
  EXPECT_DOUBLE_EQ(time_of(from(plan::Space::input), node, hardware), 700 + 500);
  EXPECT_DOUBLE_EQ(time_of(from(plan::Space::stage), node, hardware), 100);
  EXPECT_DOUBLE_EQ(time_of(from(plan::Space::scratch), node, hardware), 100);  // its own
  hardware.node.call_ns = 0;
  EXPECT_DOUBLE_EQ(time_of(from(plan::Space::input), node, hardware), 100);
}

TEST(ManyMessages, LeaveAtTheAdaptersGapOrTheTimeOfTheirBytes) {
  Hardware hardware = bare_hardware();
  hardware.adapter.message_gap_ns = 250;
  EXPECT_DOUBLE_EQ(time_of(stream(2, 11, 8), kTwoNodes, hardware), 10 * 250 + 8 + 1000);
  EXPECT_DOUBLE_EQ(time_of(stream(2, 11, 300), kTwoNodes, hardware), 11 * 300 + 1000);
}

TEST(ManyMessages, LeaveAtTheOverheadOfTheCore) {
  Hardware hardware = bare_hardware();  // LogGP: o + (k - 1) max(o, g) + ...
  hardware.adapter.message_gap_ns = 250;
  hardware.adapter.post_ns = 400;
  EXPECT_DOUBLE_EQ(time_of(stream(2, 11, 8), kTwoNodes, hardware), 11 * 400 + 8 + 1000);
}

TEST(ManyMessages, OfOneQueuePairHaveAGapOfTheirOwn) {
  Hardware hardware = bare_hardware();
  hardware.adapter.queue_gap_ns = 900;
  EXPECT_DOUBLE_EQ(time_of(stream(3, 5, 8), Machine::uniform(3, 1), hardware), 4 * 900 + 8 + 1000);
  const auto fan = plans_by(3, [](plan::Builder& builder) {
    for (const int peer : {1, 2}) {
      if (builder.rank() == 0) builder.send(peer, input(0, 8));
      if (builder.rank() == peer) builder.recv(0, output(peer, 8));
    }
  });
  EXPECT_DOUBLE_EQ(time_of(fan, Machine::uniform(3, 1), hardware), 8 + 8 + 1000);
}

/// Ranks 0 to k-1 of one node each send a message to the corresponding rank of the other node, or
/// in both directions.
PlanSource pairs(int k, std::uint64_t bytes, bool both_ways) {
  return plans_by(2 * k, [=](plan::Builder& builder) {
    const int self = builder.rank();
    const int peer = (self + k) % (2 * k);
    if (self < k || both_ways) builder.send(peer, input(self, bytes));
    if (self >= k || both_ways) builder.recv(peer, output(self, bytes));
  });
}

TEST(Bandwidth, OfAnAdapterIsSharedByItsSenders) {
  const Hardware hardware = bare_hardware();
  EXPECT_DOUBLE_EQ(time_of(pairs(1, 4000, false), Machine::uniform(2, 1), hardware), 4000 + 1000);
  EXPECT_DOUBLE_EQ(time_of(pairs(4, 4000, false), Machine::uniform(2, 4), hardware),
                   4 * 4000 + 1000);
  EXPECT_DOUBLE_EQ(time_of(pairs(4, 4000, true), Machine::uniform(2, 4), hardware),
                   4 * 4000 + 1000);
}

TEST(Bandwidth, OfOneSenderIsLessThanTheAdapters) {
  Hardware hardware = bare_hardware();
  hardware.adapter.queue_bytes_per_ns = 0.25;
  EXPECT_DOUBLE_EQ(time_of(pairs(1, 4000, false), Machine::uniform(2, 1), hardware),
                   4 * 4000 + 1000);
  // The last of four begins when the others have had their pieces of 4000.
  EXPECT_DOUBLE_EQ(time_of(pairs(4, 4000, false), Machine::uniform(2, 4), hardware),
                   3 * 4000 + 4 * 4000 + 1000);
  EXPECT_NEAR(time_of(pairs(4, 4 << 20, false), Machine::uniform(2, 4), hardware), 4.0 * (4 << 20),
              0.05 * 4.0 * (4 << 20));
}

TEST(Bandwidth, BothWaysTogetherMayBeLessThanTwice) {
  Hardware hardware = bare_hardware();
  hardware.adapter.both_ways_bytes_per_ns = 1.25;
  constexpr double kBytes = 1 << 20;
  EXPECT_NEAR(time_of(pairs(1, 1 << 20, false), kTwoNodes, hardware), kBytes, 0.01 * kBytes);
  EXPECT_NEAR(time_of(pairs(1, 1 << 20, true), kTwoNodes, hardware), 2 * kBytes / 1.25,
              0.08 * kBytes);
}

TEST(Bandwidth, ChangesWithTheNumberOfSenders) {
  Hardware hardware = bare_hardware();
  hardware.adapter.senders.points = {{1, 1.0}, {4, 0.5}};
  constexpr double kBytes = 1 << 20;
  EXPECT_NEAR(time_of(pairs(1, 1 << 20, false), Machine::uniform(2, 1), hardware), kBytes,
              0.01 * kBytes);
  EXPECT_NEAR(time_of(pairs(4, 1 << 20, false), Machine::uniform(2, 4), hardware), 4 * kBytes / 0.5,
              0.08 * 4 * kBytes / 0.5);
}

TEST(Bandwidth, GrowsWithRails) {
  Hardware hardware = bare_hardware();
  hardware.rails = 2;
  EXPECT_DOUBLE_EQ(time_of(pairs(4, 4000, false), Machine::uniform(2, 4), hardware),
                   2 * 4000 + 1000);
}

TEST(LocalMessage, IsCopiedTwiceAndOnceWhenLarge) {
  Hardware hardware = bare_hardware();
  hardware.adapter.eager_bytes = 1000;
  hardware.node.copy_start_ns = 50;
  hardware.node.cached_bytes_per_ns = 4;
  hardware.node.signal_ns = 90;
  const Machine node = Machine::uniform(1, 2);
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 1000), node, hardware), 2 * (50 + 250) + 90);
  EXPECT_DOUBLE_EQ(time_of(stream(2, 1, 4000), node, hardware), 50 + 1000 + 3 * 90);
}

TEST(Matching, SearchesHalfOfTheRecvsPostedForOtherPeers) {
  // Rank 0 receives one message, or two, from each of three peers on nodes of their own.
  const auto time = [](double match_ns, int each) {
    Hardware hardware = bare_hardware();
    hardware.adapter.bytes_per_ns = 1000;
    hardware.adapter.poll_ns = 10'000;  // so that all are there when the first is looked after
    hardware.adapter.match_ns = match_ns;
    const auto plans = plans_by(4, [=](plan::Builder& builder) {
      for (int i = 0; i < each; ++i) {
        for (int peer = 1; peer < 4; ++peer) {
          if (builder.rank() == 0) builder.recv(peer, output(0, 8, 64 * peer + 8 * i));
        }
        if (builder.rank() > 0) builder.send(0, input(builder.rank(), 8));
      }
    });
    return simulate(plans, Machine::uniform(4, 1), hardware).time_ns;
  };
  EXPECT_NEAR(time(100, 1) - time(0, 1), 100 + 50 + 0, 1e-6);
  // The second recv of a peer counts when the first one has been matched.
  EXPECT_NEAR(time(100, 2) - time(0, 2), 3 * 100 + 100 + 50 + 0, 1e-6);
}

TEST(Signal, EndsTheWaitAfterSignalTime) {
  Hardware hardware = bare_hardware();
  hardware.node.signal_ns = 90;
  const auto plans = plans_by(2, [](plan::Builder& builder) {
    if (builder.rank() == 0) builder.signal(1);
    if (builder.rank() == 1) builder.wait(0);
  });
  EXPECT_DOUBLE_EQ(time_of(plans, Machine::uniform(1, 2), hardware), 90);
}

TEST(Jitter, IsWithinItsBoundAndRepeatableByItsSeed) {
  const auto plans = stream(2, 1, 100);
  const Hardware hardware = bare_hardware();
  Options options;
  options.jitter_ns = 500;
  std::vector<double> times;
  for (options.seed = 0; options.seed < 20; ++options.seed) {
    times.push_back(simulate(plans, kTwoNodes, hardware, options).time_ns);
    EXPECT_GE(times.back(), 1100);
    EXPECT_LE(times.back(), 1600);
    EXPECT_EQ(times.back(), simulate(plans, kTwoNodes, hardware, options).time_ns);
  }
  EXPECT_NE(times[0], times[1]);
}

}  // namespace
}  // namespace weft::sim::message_test
