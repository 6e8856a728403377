// Sensitivity of a choice to estimates: what it finds is what choose() finds with changed numbers.
#include "tune/sensitivity.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "nic_profiles/numbers.hpp"

namespace weft::tune::sensitivity_test {
namespace {

using hierarchy::Machine;
using nic_profiles::Profile;

/// An adapter of the catalogue of which only these numbers are estimates.
Profile with_estimates(const std::vector<std::string>& paths) {
  Profile profile = nic_profiles::load("mt25408");
  for (auto& [path, source] : profile.sources) source = "measured";
  for (const std::string& path : paths) profile.sources.at(path) = "estimate for a test";
  return profile;
}

Sensitivity sensitivity_of(const Profile& profile, std::uint64_t bytes) {
  const Facts facts{Machine::uniform(4, 4)};
  const auto problem = plan::Problem::alltoall(16, bytes);
  return sensitivity(problem, facts, profile,
                     choose(problem, facts, profile.hardware, {.exhaustive = true}));
}

TEST(Sensitivity, ShowsEachEstimateThatDecides) {
  const auto paths = {"adapter.post_ns", "adapter.bytes_per_ns", "node.copy_start_ns",
                      "node.memory_bytes_per_ns", "node.signal_ns"};
  const Profile profile = with_estimates({paths.begin(), paths.end()});
  const Facts facts{Machine::uniform(4, 4)};
  std::size_t changes = 0;
  for (const std::uint64_t bytes : {8, 64, 512, 4096, 32768}) {
    const auto problem = plan::Problem::alltoall(16, bytes);
    const auto before = choose(problem, facts, profile.hardware).front();
    const Sensitivity found = sensitivity_of(profile, bytes);
    EXPECT_EQ(found.variations, 10);
    changes += found.changes.size();
    std::size_t expected = 0;
    for (const auto& number : nic_profiles::estimates(profile.sources)) {
      for (const double factor : {0.5, 2.0}) {
        const auto hardware = nic_profiles::scaled(number, profile.hardware, factor);
        ASSERT_TRUE(hardware) << number.path();
        const auto after = choose(problem, facts, *hardware, {.exhaustive = true});
        const auto same = std::ranges::find_if(after, [&](const Prediction& one) {
          return one.algorithm.name() == before.algorithm.name();
        });
        if (same->time_ns == after.front().time_ns) continue;
        ASSERT_LT(expected, found.changes.size()) << number.path() << " times " << factor;
        const Change& change = found.changes[expected++];
        EXPECT_EQ(change.path, number.path());
        EXPECT_EQ(change.factor, factor);
        EXPECT_EQ(change.time_ns, after.front().time_ns);
        EXPECT_EQ(change.before_ns, same->time_ns);
        const auto chosen = std::ranges::find_if(
            after, [&](const Prediction& one) { return one.algorithm.name() == change.chosen; });
        EXPECT_EQ(chosen->time_ns, change.time_ns) << change.chosen;  // others may be as fast
      }
    }
    EXPECT_EQ(expected, found.changes.size()) << bytes;
  }
  EXPECT_GT(changes, 0u);
}

TEST(Sensitivity, FindsNoChangeWhereNoEstimateDecides) {
  const Sensitivity found =
      sensitivity_of(with_estimates({"adapter.register_ns", "adapter.register_ns_per_byte"}), 64);
  EXPECT_EQ(found.variations, 4);
  EXPECT_TRUE(found.changes.empty());
  EXPECT_TRUE(found.kept.empty());
}

TEST(Sensitivity, KeepsNumbersThatCannotBeHalved) {
  const Sensitivity found = sensitivity_of(
      with_estimates({"adapter.match_ns", "adapter.in_order_placement", "adapter.senders"}), 64);
  EXPECT_EQ(found.variations, 0);
  EXPECT_EQ(found.kept, (std::vector<std::string>{"adapter.match_ns", "adapter.senders",
                                                  "adapter.in_order_placement"}));
}

TEST(Estimates, AreTheNumbersWhoseSourceIsAnEstimate) {
  for (const char* name : {"connectx-5", "connectx-6", "connectx-7"}) {
    const Profile profile = nic_profiles::load(name);
    EXPECT_EQ(nic_profiles::said_numbers(profile.sources).size(), 33u) << name;
    EXPECT_EQ(nic_profiles::estimates(profile.sources).size(), 23u) << name;
  }
  EXPECT_TRUE(nic_profiles::estimates(with_estimates({}).sources).empty());
}

TEST(Estimates, StayWithinTheirLimitsWhenScaled) {
  const Profile profile = nic_profiles::load("mt25208");
  for (const auto& number : nic_profiles::numbers()) {
    for (const double factor : {0.5, 2.0}) {
      const auto scaled = nic_profiles::scaled(number, profile.hardware, factor);
      if (!scaled) continue;
      Profile changed = profile;
      changed.hardware = *scaled;
      const Profile read = nic_profiles::parse("scaled", to_json(changed));
      EXPECT_NE(to_json(read), to_json(profile)) << number.path();
    }
  }
}

}  // namespace
}  // namespace weft::tune::sensitivity_test
