// Steadiness: what is loose or disturbed is told, measured again, and not kept.
#include "nic_profiles/fit/steadiness.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.hpp"
#include "nic_profiles/fit/fit.hpp"
#include "nic_profiles/fit/intervals.hpp"
#include "nic_profiles/probe/probe.hpp"
#include "nic_profiles/probe/simulated_target.hpp"

namespace weft::nic_profiles::steadiness_test {
namespace {

/// All times of an adapter, each known to the same part of it.
Measurements measured(const std::string& name, double part) {
  SimulatedTarget target(load(name), 2);
  Measurements taken = probe(target, {}, {.effort = Effort::quick});
  for_each_time(taken, [&](double ns, Spread& spread) {
    spread = {ns * (1 - part), ns * (1 + part), 100, 0};
  });
  taken.use = {.seconds = 10, .cores = 4};
  return taken;
}

Profile fitted(const Measurements& taken) {
  Profile profile = fit(taken);
  profile.intervals = intervals(taken, profile);
  return profile;
}

TEST(Intervals, HoldTheFittedNumbers) {
  for (const std::string& name : names()) {
    const Measurements taken = measured(name, 0.02);
    const Profile profile = fitted(taken);
    EXPECT_FALSE(profile.intervals.empty());
    for (const Number& number : numbers()) {
      const auto interval = profile.intervals.find(number.path());
      if (interval == profile.intervals.end()) continue;
      const double value = value_of(number, profile.hardware);
      EXPECT_LE(interval->second.low, value) << name << " " << number.path();
      EXPECT_GE(interval->second.high, value) << name << " " << number.path();
    }
    EXPECT_EQ(profile.intervals, fitted(taken).intervals) << "the same measurements";
    // And go with the profile.
    EXPECT_EQ(parse(name, to_json(profile)).intervals, profile.intervals);
  }
}

// Any times give a profile that can be read.
RC_GTEST_PROP(Intervals, OfSpoiltTimesAreWritten, ()) {
  static const Measurements measured_once = measured("soft", 0.02);
  Measurements taken = measured_once;
  for_each_time(taken, [](double& ns, Spread& spread) {
    ns = *rc::gen::element(0.0, 1.0, 100.0, 4e6, ns, ns);
    spread = {ns / 2, 2 * ns, 100, 0};
  });
  const Profile profile = fitted(taken);
  RC_ASSERT(parse("spoilt", to_json(profile)).intervals == profile.intervals);
}

TEST(Intervals, AreThoseOfTheTimes) {
  Measurements taken = measured("connectx-6", 0.05);
  taken.signal.front().spread.high_ns = 1.2 * taken.signal.front().ns;
  const Profile profile = fitted(taken);
  const Interval signal = profile.intervals.at("node.signal_ns");
  const double ns = profile.hardware.node.signal_ns;
  EXPECT_NEAR(signal.low, 0.95 * ns, 0.01 * ns);
  EXPECT_NEAR(signal.high, 1.20 * ns, 0.03 * ns);
}

TEST(Intervals, AreNotThereWithoutRepeats) {
  SimulatedTarget target(load("connectx-6"), 2);
  const Measurements taken = probe(target, {}, {.effort = Effort::quick});
  EXPECT_TRUE(intervals(taken, fit(taken)).empty());
}

TEST(Steadiness, OfNarrowTimesIsGood) {
  for (const std::string& name : names()) {
    const Measurements taken = measured(name, 0.01);
    EXPECT_EQ(judge(taken, fitted(taken)).why_not, "") << name;
  }
}

TEST(Steadiness, NamesLooseNumbers) {
  const Measurements taken = measured("connectx-6", 0.6);
  const Steadiness seen = judge(taken, fitted(taken));
  EXPECT_GT(seen.wide, 0.9 * seen.taken);  // the others are shorter than the clock can tell
  EXPECT_NE(seen.why_not.find(" of its numbers are loose: "), std::string::npos) << seen.why_not;
  bool names_signal = false;
  for (const std::string& one : seen.loose) names_signal |= one.starts_with("node.signal_ns ");
  EXPECT_TRUE(names_signal);
}

// A busy loop on each core: every signal waits for a turn of the scheduler, so all take the same.
TEST(Steadiness, DoesNotTrustNarrowTimesOfABusyMachine) {
  Measurements taken = measured("connectx-6", 0.01);
  taken.signal = {{4e6, {3.99e6, 4.01e6, 100, 0.5}}};
  taken.use.others_s = 20;
  EXPECT_EQ(judge(taken, fitted(taken)).why_not,
            fmt::format("others had the cores in 1 of {} measurements (other programs had 2.0 of 4 "
                        "cores, a hypervisor 0.0)",
                        judge(taken, fitted(taken)).taken));
  // The same by the kernel's own work for the adapter, which programs have to stand as well.
  taken.use.others_s = 0.1;
  EXPECT_EQ(judge(taken, fitted(taken)).why_not, "");
}

TEST(Steadiness, WantsTimeForAllMeasurements) {
  Measurements taken = measured("connectx-6", 0.01);
  taken.latency.back().spread.repeats = 2;
  const Steadiness seen = judge(taken, fitted(taken));
  EXPECT_EQ(seen.hurried, 1);
  EXPECT_EQ(seen.why_not,
            fmt::format("time was over before 1 of {} measurements: a larger --budget helps",
                        seen.taken));
}

TEST(Steadiness, KeepsTheBetterProfile) {
  const Profile tight = fitted(measured("connectx-6", 0.01));
  const Profile alike = fitted(measured("connectx-6", 0.012));
  const Profile looser = fitted(measured("connectx-6", 0.08));
  EXPECT_EQ(why_not_replace(tight, alike), "");
  EXPECT_EQ(why_not_replace(looser, tight), "");
  EXPECT_NE(why_not_replace(tight, looser), "");
  // One that nobody knows how good it is, and one of another machine, stand in nobody's way.
  Profile before = tight;
  before.intervals.clear();
  EXPECT_EQ(why_not_replace(before, looser), "");
  Profile other = tight;
  other.hardware.host.cores += 1;
  EXPECT_EQ(why_not_replace(other, looser), "");
}

TEST(Steadiness, RefusesAnIntervalThatIsNone) {
  Profile profile = load("soft");
  profile.intervals["node.signal_ns"] = {200, 100};
  EXPECT_THROW(parse("file.json", to_json(profile)), UsageError);
}

/// A target on which others have the cores while its first measurements are taken, or for always.
class BusyTarget final : public ProbeTarget {
 public:
  explicit BusyTarget(int busy) : busy_(busy) {}

  Profile identity() const override { return quiet_.identity(); }
  std::string source() const override { return quiet_.source(); }
  int most_pairs() const override { return quiet_.most_pairs(); }
  std::uint64_t most_touched_bytes() const override { return quiet_.most_touched_bytes(); }
  Estimate latency(std::uint64_t bytes) override { return seen(quiet_.latency(bytes)); }
  Estimate steady(const Stream& stream) override { return seen(quiet_.steady(stream)); }
  Estimate send_busy(std::uint64_t bytes, Memory into) override {
    return seen(quiet_.send_busy(bytes, into));
  }
  Estimate copy(const Copy& copy) override { return seen(quiet_.copy(copy)); }
  Estimate signal() override { return seen(quiet_.signal()); }
  Estimate turn() override { return seen(quiet_.turn()); }
  Estimate call(std::uint64_t bytes) override { return seen(quiet_.call(bytes)); }
  Estimate reduce(std::uint64_t bytes) override { return seen(quiet_.reduce(bytes)); }
  Estimate registration(std::uint64_t bytes) override { return seen(quiet_.registration(bytes)); }
  void hurry() override { hurried = true; }

  int taken = 0;
  bool hurried = false;

 private:
  Estimate seen(Estimate quiet) {
    if (++taken > busy_) return quiet;
    quiet.ns = 4e6;
    quiet.spread = {4e6, 4e6, 100, 0.5};
    return quiet;
  }

  SimulatedTarget quiet_{load("connectx-6"), 2};
  int busy_;
};

int disturbed(const Measurements& taken) {
  int count = 0;
  for_each_time(taken, [&](double ns, const Spread& spread) {
    count += is_disturbed({ns, spread}) ? 1 : 0;
  });
  return count;
}

TEST(Probe, TakesAgainWhatWasDisturbed) {
  BusyTarget target(15);
  const Measurements taken = probe(target, {}, {.effort = Effort::quick});
  EXPECT_EQ(disturbed(taken), 0);
  EXPECT_FALSE(target.hurried);
  BusyTarget quiet(0);
  const Measurements expected = probe(quiet, {}, {.effort = Effort::quick});
  for (const Number& number : numbers()) {
    // Sizes between those of a series are looked for from the first times on.
    const double value = value_of(number, fit(expected).hardware);
    EXPECT_NEAR(value_of(number, fit(taken).hardware), value, 0.01 * value) << number.path();
  }
  EXPECT_GT(target.taken, quiet.taken);
}

TEST(Probe, EndsWhereTheMachineStaysBusy) {
  BusyTarget quiet(0), target(1 << 30);
  probe(quiet, {}, {.effort = Effort::quick});
  const Measurements taken = probe(target, {}, {.effort = Effort::quick, .budget_s = 1e9});
  EXPECT_TRUE(taken.complete);
  EXPECT_GT(disturbed(taken), 0);
  EXPECT_LE(target.taken, 3 * quiet.taken);
}

TEST(Probe, HurriesWhenItsBudgetIsSpent) {
  BusyTarget target(1 << 30);
  int again = 0;
  const Course course{
      .effort = Effort::quick, .budget_s = 0, .taken = [&](const auto& name, auto&) {
        again += name.ends_with(", again") ? 1 : 0;
      }};
  EXPECT_TRUE(probe(target, {}, course).complete);
  EXPECT_TRUE(target.hurried);
  EXPECT_EQ(again, 0);
}

}  // namespace
}  // namespace weft::nic_profiles::steadiness_test
