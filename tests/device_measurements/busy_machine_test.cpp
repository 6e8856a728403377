// A machine whose every core runs somebody else's loop: the probe sees it, and trusts nothing that
// the loops have spoilt.
#include <cstdlib>

#include <gtest/gtest.h>

#include "device_measurements/device_target.hpp"
#include "tests/comm/support/run_ranks.hpp"
#include "tests/device_measurements/busy_cores.hpp"

namespace weft::device_measurements::busy_machine_test {
namespace {

// Where a signal takes a turn of the scheduler it is known that it does.
constexpr double kTurnOfScheduler_ns = 100'000;

TEST(BusyMachine, IsSeenAndWhatItSpoilsIsNotTrusted) {
  ::setenv("WEFT_DEVICE", "soft", 1);
  const test::BusyCores busy;
  ASSERT_GT(busy.count(), 0U);
  const auto errors = test::run_ranks(4, [](int rank, std::unique_ptr<Bootstrap> bootstrap) {
    if (rank != 0) return serve(*bootstrap);
    DeviceTarget target(*bootstrap);
    int disturbed = 0;
    const auto expect_honest = [&](const char* what, const nic_profiles::Estimate& taken) {
      disturbed += is_disturbed(taken) ? 1 : 0;
      EXPECT_TRUE(!is_steady(taken) || taken.ns < kTurnOfScheduler_ns)
          << what << ": " << taken.ns << " ns, others " << taken.spread.others;
    };
    for (int round = 0; round < 3; ++round) {
      expect_honest("signal", target.signal());
      expect_honest("turn", target.turn());
      expect_honest("latency", target.latency(8));
    }
    EXPECT_GT(disturbed, 0);
    const nic_profiles::CoreUse use = target.core_use();
    EXPECT_GT(use.others_s, 0.2 * use.seconds);
    EXPECT_GT(use.cores, 0);
  });
  ::unsetenv("WEFT_DEVICE");
  EXPECT_EQ(errors, test::none(4));
}

}  // namespace
}  // namespace weft::device_measurements::busy_machine_test
