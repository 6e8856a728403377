// Classes of curves such as the paper's figures have.
#include "nic_profiles/fit/classify.hpp"

#include <gtest/gtest.h>

#include "nic_profiles/fit/curve_features.hpp"

namespace weft::nic_profiles::classify_test {
namespace {

/// Sends that keep the core for 100 ns, and for those up to `stored_bytes` 1 ns a byte more.
std::vector<Timing> sends(std::uint64_t stored_bytes) {
  std::vector<Timing> timings;
  for (std::uint64_t bytes = 1; bytes <= kLargest_bytes; bytes *= 2) {
    const double stored_ns = bytes <= stored_bytes ? static_cast<double>(bytes) : 0;
    timings.push_back({bytes, 100 + stored_ns});
  }
  return timings;
}

/// Two-way bandwidths of 1, 2, 4, .. pairs, in GB/s.
std::vector<StreamTiming> two_way(const std::vector<double>& rates) {
  std::vector<StreamTiming> timings;
  int pairs = 1;
  for (const double rate : rates) {
    const Stream stream{pairs, pairs, 1 << 20, 8, true};
    timings.push_back({stream, 2.0 * pairs * 8 * (1 << 20) / rate});
    pairs *= 2;
  }
  return timings;
}

Classification classify(std::uint64_t stored_bytes, const std::vector<double>& rates) {
  Measurements measurements;
  measurements.send_busy = sends(stored_bytes);
  measurements.bandwidths = two_way(rates);
  return nic_profiles::classify(measurements);
}

TEST(Classify, KnowsTheFourClasses) {
  const std::uint64_t all = kLargest_bytes;
  const Classification onload = classify(all, {1.2, 1.7, 1.8, 1.8});
  EXPECT_EQ(onload.kind, Kind::onload);
  EXPECT_GT(onload.confidence, 0.9);
  const Classification degrading = classify(0, {2.6, 2.3, 1.8, 1.4});
  EXPECT_EQ(degrading.kind, Kind::offload_degrading);
  EXPECT_GT(degrading.confidence, 0.9);
  EXPECT_EQ(degrading.reason, "the adapter fetches messages; 8 pairs get 46 % less than 1");
  const Classification scaling = classify(256, {1.8, 2.5, 2.8, 2.8});
  EXPECT_EQ(scaling.kind, Kind::offload_scaling);
  EXPECT_GT(scaling.confidence, 0.8);
  const Classification hybrid = classify(16384, {24, 24, 24, 24});
  EXPECT_EQ(hybrid.kind, Kind::hybrid);
  EXPECT_GT(hybrid.confidence, 0.9);
}

TEST(Classify, IsUnsureAtTheBorderAndWhereSomethingIsMissing) {
  EXPECT_LT(classify(0, {2.0, 2.0, 1.9, 1.8}).confidence, 0.6);
  EXPECT_GT(classify(0, {2.0, 2.0, 2.0, 2.0}).confidence,
            classify(0, {2.0, 2.0, 2.0, 1.85}).confidence);
  EXPECT_LE(classify(0, {2.0}).confidence, 0.5);
  Measurements no_sends;
  no_sends.bandwidths = two_way({2.6, 2.3, 1.8, 1.4});
  EXPECT_EQ(classify(no_sends).kind, Kind::offload_degrading);
  EXPECT_LE(classify(no_sends).confidence, 0.5);
  EXPECT_EQ(classify(Measurements{}).confidence, 0);
}

TEST(Classify, ByNumbersAgreesWithTheCatalogue) {
  for (const std::string& name : names()) {
    const Profile profile = load(name);
    EXPECT_EQ(to_string(kind_of(profile.hardware)), to_string(profile.kind)) << name;
  }
}

TEST(Classify, IsUnsureWhereSendsGoUpAndDown) {
  Measurements measurements;
  measurements.send_busy = sends(kLargest_bytes);
  const Classification steady = nic_profiles::classify(measurements);
  for (std::size_t i = 13; i < measurements.send_busy.size(); i += 3) {
    measurements.send_busy[i].ns *= 7;
  }
  const Classification unsteady = nic_profiles::classify(measurements);
  EXPECT_EQ(unsteady.kind, Kind::onload);
  EXPECT_LT(unsteady.confidence, 0.95 * steady.confidence);
}

TEST(Pio, IsNotTakenForNoise) {
  std::vector<Timing> noisy = sends(0);
  for (std::size_t i = 0; i < noisy.size(); ++i) noisy[i].ns += i % 3 == 0 ? 12 : -4;
  const auto pio = find_pio(noisy);
  ASSERT_TRUE(pio.has_value());
  EXPECT_FALSE(pio->all);
  EXPECT_LT(pio->bytes, kHybridFrom_bytes);
}

TEST(Pio, IsFoundByWhatItKeepsTheCoreFor) {
  const auto some = find_pio(sends(512));
  ASSERT_TRUE(some);
  EXPECT_FALSE(some->all);
  EXPECT_EQ(some->bytes, 512U);
  EXPECT_NEAR(some->bytes_per_ns, 1, 1e-9);
  EXPECT_NEAR(some->fetched_ns, 100, 1e-9);
  const auto all = find_pio(sends(kLargest_bytes));
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->all);
  EXPECT_NEAR(all->bytes_per_ns, 1, 1e-9);
  EXPECT_NEAR(all->stored_ns, 100, 1e-9);
  const auto none = find_pio(sends(0));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->bytes, 0U);
  EXPECT_FALSE(find_pio(std::vector<Timing>{{1, 1}, {2, 2}}));
}

TEST(CacheSize, IsWhereCopiesSlowDown) {
  const auto copies = [](std::uint64_t cache_bytes, double far_ns) {
    std::vector<CopyTiming> timings;
    for (std::uint64_t since = 1 << 10; since <= 1 << 20; since *= 2) {
      const Copy copy{Origin::written, 4096, 1, 1, since};
      timings.push_back({copy, since <= cache_bytes ? 400 : far_ns});
    }
    return timings;
  };
  const auto found = find_cache(copies(32768, 900));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, 32768U);
  EXPECT_EQ(found->above, 65536U);
  EXPECT_FALSE(find_cache(copies(32768, 410)));
  EXPECT_FALSE(find_cache(copies(1 << 20, 900)));
}

}  // namespace
}  // namespace weft::nic_profiles::classify_test
