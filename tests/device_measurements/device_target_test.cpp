// The probe on the software device: its results are plausible, and errors end it on all ranks.
#include <cstdlib>

#include <gtest/gtest.h>
#include <sched.h>

#include "device_measurements/device_target.hpp"
#include "hierarchy/detect.hpp"
#include "nic_profiles/fit/fit.hpp"
#include "nic_profiles/probe/probe.hpp"
#include "tests/comm/support/run_ranks.hpp"

namespace weft::device_measurements::device_target_test {
namespace {

using nic_profiles::Measurements;

class Device : public ::testing::Test {
 protected:
  Device() { ::setenv("WEFT_DEVICE", "soft", 1); }
  ~Device() override { ::unsetenv("WEFT_DEVICE"); }

  /// Ranks as threads; rank 0 calls `drive`.
  static std::vector<std::string> run(int ranks, const std::function<void(DeviceTarget&)>& drive) {
    return test::run_ranks(ranks, [&](int rank, std::unique_ptr<Bootstrap> bootstrap) {
      if (rank != 0) return serve(*bootstrap);
      DeviceTarget target(*bootstrap);
      drive(target);
    });
  }
};

TEST_F(Device, GivesTimesThatFitTogether) {
  const auto errors = run(4, [](DeviceTarget& target) {
    ASSERT_EQ(target.most_pairs(), 2);
    EXPECT_GT(target.latency(1).ns, 0);
    EXPECT_GT(target.latency(4 << 20).ns, target.latency(1).ns);
    for (const auto into : {nic_profiles::Memory::librarys, nic_profiles::Memory::callers}) {
      EXPECT_GT(target.send_busy(4 << 20, into).ns, target.send_busy(1, into).ns);
    }
    EXPECT_GT(target.signal().ns, 0);
    cpu_set_t before, after;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_GT(target.turn().ns, 0);
    ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
    EXPECT_GT(target.call(1 << 20).ns, target.call(1).ns);
    EXPECT_GT(target.reduce(1 << 20).ns, target.reduce(1 << 10).ns);
    EXPECT_GT(target.registration(4096).ns, 0);
    const nic_profiles::Profile found = target.identity();
    EXPECT_EQ(found.hardware.adapter.eager_bytes, 8192U);
    EXPECT_TRUE(found.hardware.adapter.receiver_first);
    EXPECT_TRUE(found.hardware.adapter.in_order_placement);
    EXPECT_EQ(nic_profiles::find(found.device.vendor, found.device.parts.at(0)), "soft");
    EXPECT_EQ(found.hardware.host.cores, hierarchy::usable_cores());
    EXPECT_EQ(found.hardware.host.nodes, 2);
  });
  EXPECT_EQ(errors, test::none(4));
}

TEST_F(Device, SaysHowSureItIs) {
  const auto errors = run(4, [](DeviceTarget& target) {
    EXPECT_EQ(target.core_use().seconds, 0);
    const auto expect_interval = [](const nic_profiles::Estimate& taken) {
      EXPECT_GE(taken.spread.repeats, 6);
      EXPECT_LE(taken.spread.low_ns, taken.ns);
      EXPECT_GE(taken.spread.high_ns, taken.ns);
      EXPECT_GE(taken.spread.others, 0);
      EXPECT_LE(taken.spread.others, 1);
    };
    expect_interval(target.latency(8));
    expect_interval(target.steady({2, 2, 8, 16, true}));
    EXPECT_GT(target.core_use().seconds, 0);
    EXPECT_EQ(target.core_use().cores, hierarchy::usable_cores());
  });
  EXPECT_EQ(errors, test::none(4));
}

TEST_F(Device, RunsEveryShapeOfStream) {
  const auto errors = run(6, [](DeviceTarget& target) {
    ASSERT_EQ(target.most_pairs(), 3);
    target.hurry();
    for (const auto& [senders, receivers] : {std::pair{1, 1}, {3, 3}, {3, 1}, {1, 3}, {2, 2}}) {
      for (const std::uint64_t bytes : {1, 8192, 8193, 100'000}) {
        for (const bool both_ways : {false, true}) {
          const nic_profiles::Stream stream{senders, receivers, bytes, 16, both_ways};
          EXPECT_GT(target.steady(stream).ns, 0) << senders << " " << receivers << " " << bytes;
        }
      }
    }
  });
  EXPECT_EQ(errors, test::none(6));
}

TEST_F(Device, CopiesFromEverywhere) {
  using nic_profiles::Origin;
  const auto errors = run(4, [](DeviceTarget& target) {
    for (const Origin origin : {Origin::written, Origin::fresh, Origin::memory}) {
      for (const int cores : {1, 2}) {
        const double small_ns = target.copy({origin, 16 << 10, 1, cores}).ns;
        const double large_ns = target.copy({origin, 1 << 20, 1, cores}).ns;
        EXPECT_GT(small_ns, 0) << static_cast<int>(origin) << " " << cores;
        EXPECT_GT(large_ns, small_ns) << static_cast<int>(origin) << " " << cores;
      }
    }
    EXPECT_GT(target.copy({Origin::written, 16 << 10, 64, 1}).ns, 0);
    EXPECT_GT(target.copy({Origin::written, 16 << 10, 1, 1, 1 << 20}).ns, 0);
    EXPECT_GE(target.most_touched_bytes(), 32U << 20);
  });
  EXPECT_EQ(errors, test::none(4));
}

TEST_F(Device, LeavesOutRanksThatHaveNoPartner) {
  const auto errors = run(5, [](DeviceTarget& target) {
    EXPECT_EQ(target.most_pairs(), 2);
    EXPECT_GT(target.steady({2, 2, 8, 16, true}).ns, 0);
  });
  EXPECT_EQ(errors, test::none(5));
}

TEST_F(Device, SaysHowWritesAreNoticed) {
  ::setenv("WEFT_PLACEMENT", "immediate", 1);
  const auto errors = run(2, [](DeviceTarget& target) {
    EXPECT_FALSE(target.identity().hardware.adapter.in_order_placement);
    EXPECT_GT(target.latency(8).ns, 0);
  });
  ::unsetenv("WEFT_PLACEMENT");
  EXPECT_EQ(errors, test::none(2));
}

TEST_F(Device, NeedsTwoNodes) {
  ::setenv("WEFT_NODES", "3", 1);
  const auto errors = run(3, [](DeviceTarget&) { FAIL() << "three nodes"; });
  ::unsetenv("WEFT_NODES");
  for (const std::string& error : errors) {
    EXPECT_EQ(error, "a probe of 3 ranks on 3 nodes: it needs ranks on 2");
  }
}

TEST_F(Device, EndsForAllWhenARankLeaves) {
  const auto errors = test::run_ranks(4, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    if (rank == 3) {
      comm::agree(*bootstrap, [] { return std::string(); });
      const Station station(*bootstrap);
      return;
    }
    if (rank != 0) return serve(*bootstrap);
    DeviceTarget target(*bootstrap);
    target.latency(1);
  });
  for (int rank = 0; rank < 3; ++rank) EXPECT_NE(errors[rank], "") << rank;
  EXPECT_NE(errors[0].find("rank 3"), std::string::npos) << errors[0];
}

/// A measurement that fails on one rank only.
TEST_F(Device, SaysTheSameEverywhere) {
  const auto errors = run(4, [](DeviceTarget& target) {
    EXPECT_THROW(target.registration(std::uint64_t{1} << 60), PeerError);
    target.latency(1);  // nothing more can be asked
  });
  EXPECT_EQ(errors[0], "the probe has failed before");
  for (int rank = 1; rank < 4; ++rank) {
    EXPECT_EQ(errors[rank],
              "rank 0: mmap(1152921504606846976 bytes): Cannot allocate memory "
              "(errno 12)");
  }
}

TEST_F(Device, EndsForAllWhereRankZeroCannotBegin) {
  const auto errors = test::run_ranks(4, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    if (rank != 0) return serve(*bootstrap);
    const DeviceTarget target(*bootstrap, [] { throw Error("no such folder"); });
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "rank 0: no such folder");
}

TEST_F(Device, StopsWhereItIsTold) {
  const auto errors = run(2, [](DeviceTarget& target) {
    const Measurements taken = nic_profiles::probe(target, [](int done, int) { return done < 3; });
    EXPECT_FALSE(taken.complete);
    EXPECT_EQ(taken.send_busy.size(), 3U);
    EXPECT_NO_THROW(nic_profiles::fit(taken));
  });
  EXPECT_EQ(errors, test::none(2));
}

}  // namespace
}  // namespace weft::device_measurements::device_target_test
