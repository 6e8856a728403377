// Round trip: the probe of a simulated adapter gives back the profile that was simulated.
#include <cmath>

#include <fmt/format.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "any_adapter.hpp"
#include "nic_profiles/fit/classify.hpp"
#include "nic_profiles/fit/fit.hpp"
#include "nic_profiles/probe/probe.hpp"
#include "nic_profiles/probe/simulated_target.hpp"
#include "plan/builder.hpp"
#include "seen.hpp"
#include "sim/simulator.hpp"

namespace weft::nic_profiles::round_trip_test {
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
  fed.hardware.node.cache_bytes = 4 << 20;
  fed.hardware.node.cached_bytes_per_ns = 0.39;
  fed.hardware.node.memory_bytes_per_ns = 0.3;
  EXPECT_EQ(probed(fed).hardware.adapter.senders.at(8), 1);
}

// Small messages come faster than the streams that would show the adapter's rate.
TEST(RoundTrip, TakesSlowMemoryOfProgramsForNoFaultOfTheAdapter) {
  Profile fed = load("mt25208");
  fed.kind = Kind::onload;
  sim::Adapter& adapter = fed.hardware.adapter;
  adapter.post_ns = adapter.poll_ns = 50;
  adapter.dma_start_ns = adapter.queue_gap_ns = 0;
  adapter.pio_bytes = sim::Adapter::kAllSizes;
  adapter.pio_bytes_per_ns = 0.06;
  adapter.bytes_per_ns = 0.2;
  adapter.both_ways_bytes_per_ns = 0.24;
  adapter.senders = {};
  adapter.message_gap_ns = 44.16;
  adapter.into_caller_bytes_per_ns = 0.012;
  EXPECT_EQ(differences(fed, probed(fed)), "");
}

/// Every rank sends to all of the other node.
double exchange_ns(const Profile& profile, int pairs, std::uint64_t bytes) {
  const auto plan_of_rank = [=](int rank) {
    plan::Builder builder(rank, 2 * pairs, bytes, bytes * static_cast<std::uint64_t>(pairs));
    const int first = rank < pairs ? pairs : 0;
    for (int i = 0; i < pairs; ++i) {
      const auto at = static_cast<std::uint64_t>(i) * bytes;
      builder.recv(first + i, plan::Slice::contiguous(plan::Space::output, rank, at, bytes));
    }
    for (int i = 0; i < pairs; ++i) {
      builder.send(first + (rank + i) % pairs,
                   plan::Slice::contiguous(plan::Space::input, rank, 0, bytes));
    }
    return std::move(builder).finish();
  };
  return sim::simulate(plan_of_rank, hierarchy::Machine::uniform(2, pairs), profile.hardware)
      .time_ns;
}

// There times of both ends add up, so that single numbers cannot be told; what they come to can.
TEST(RoundTrip, OfNodesOnOneCoreGivesBackWhatExchangesTake) {
  Profile fed = load("soft-roce");
  fed.hardware.adapter.latency_ns = 0;
  fed.hardware.adapter.bytes_per_ns = 0.08;
  fed.hardware.adapter.both_ways_bytes_per_ns = 0.08;
  fed.hardware.adapter.pio_bytes_per_ns = 0.07;
  fed.hardware.node.signal_ns = 0;
  fed.hardware.host = {1, 2, 3000};
  const Profile got = probed(fed);
  EXPECT_EQ(got.hardware.host.cores, 1);
  EXPECT_EQ(got.hardware.host.nodes, 2);
  EXPECT_NEAR(got.hardware.host.switch_ns, 3000, 1);
  for (const int pairs : {1, 4}) {
    for (const std::uint64_t bytes : {8, 512, 4096, 65536}) {
      const double fed_ns = exchange_ns(fed, pairs, bytes);
      EXPECT_NEAR(exchange_ns(got, pairs, bytes), fed_ns, 0.1 * fed_ns)
          << pairs << " pairs, " << bytes << " bytes";
    }
  }
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
}  // namespace weft::nic_profiles::round_trip_test
