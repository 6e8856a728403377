// The probe of a simulated adapter gives back the profile that the simulator was fed.
#include <cmath>

#include <fmt/format.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "any_adapter.hpp"
#include "nic_profiles/classify.hpp"
#include "nic_profiles/fit.hpp"
#include "nic_profiles/probe.hpp"
#include "nic_profiles/simulated_target.hpp"
#include "seen.hpp"

namespace weft::nic_profiles {
namespace {

Profile probed(const Profile& profile) {
  SimulatedTarget target(profile);
  const Measurements measurements = probe(target);
  EXPECT_TRUE(measurements.complete);
  return fit(measurements);
}

/// One line for each number that is seen and not given back within 10 %.
std::string differences(const Profile& fed, const Profile& got) {
  std::string text;
  for (const SeenNumber& number : seen_numbers(fed.hardware)) {
    const double value = number.read(got.hardware);
    if (std::abs(value - number.fed) <= 0.1 * std::abs(number.fed)) continue;
    text += fmt::format("{}: {}: fed {}, got {}\n", fed.name, number.name, number.fed, value);
  }
  return text;
}

TEST(RoundTrip, GivesBackTheCatalogue) {
  for (const std::string& name : names()) {
    const Profile fed = load(name);
    const Profile got = probed(fed);
    EXPECT_EQ(to_string(got.kind), to_string(fed.kind)) << name;
    EXPECT_EQ(differences(fed, got), "");
  }
}

// Buffers of the largest messages do not fit into this node's caches when four ranks send.
TEST(RoundTrip, TakesSlowMemoryForNoFaultOfTheAdapter) {
  Profile fed = load("mt25208");
  sim::Adapter& adapter = fed.hardware.adapter;
  adapter.pio_bytes = sim::Adapter::kAllSizes;
  adapter.pio_bytes_per_ns = 2.3;
  adapter.bytes_per_ns = 5.4;
  adapter.both_ways_bytes_per_ns = 0;
  adapter.senders = {};
  fed.hardware.node.cache_bytes = 1 << 20;
  fed.hardware.node.cached_bytes_per_ns = 0.39;
  fed.hardware.node.memory_bytes_per_ns = 0.3;
  EXPECT_EQ(probed(fed).hardware.adapter.senders.at(8), 1);
}

RC_GTEST_PROP(RoundTrip, GivesBackRandomAdapters, ()) {
  const Profile fed = *any_adapter();
  const Profile got = probed(fed);
  const std::string kinds = fmt::format("{}, not {}", to_string(got.kind), to_string(fed.kind));
  if (got.kind != fed.kind) RC_FAIL(kinds + "\n" + to_json(fed));
  const std::string text = differences(fed, got);
  if (!text.empty()) RC_FAIL(text + to_json(fed));
}

}  // namespace
}  // namespace weft::nic_profiles
