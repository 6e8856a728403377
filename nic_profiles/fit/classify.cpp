#include "nic_profiles/fit/classify.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "nic_profiles/fit/curve_features.hpp"

namespace weft::nic_profiles {

namespace {

/// 0.5 where `value` is at the border, towards 1 with its distance on a scale of `width`.
double certainty(double value, double border, double width) {
  return 1.0 - 0.5 * std::exp(-std::abs(value - border) / width);
}

struct Loss {
  double part = 0;  // of the best bandwidth, that is lost with most pairs
  int best_pairs = 1;
  int most_pairs = 1;
};

/// nullopt where fewer than two numbers of pairs were measured.
std::optional<Loss> two_way_loss(const Measurements& measurements) {
  const auto by_pairs = best_of_large(measurements, true);
  if (by_pairs.size() < 2) return std::nullopt;
  const auto rate = [](const StreamTiming& timing) { return timing.bytes_per_ns(); };
  const StreamTiming& best = *std::ranges::max_element(by_pairs, {}, rate);
  const StreamTiming& last = by_pairs.back();
  return Loss{1 - rate(last) / rate(best), best.stream.senders, last.stream.senders};
}

double total_at(const sim::Scaling& senders, int count) {
  return senders.at(count);
}

}  // namespace

Kind kind_of(const sim::Hardware& hardware) {
  constexpr int kMostSenders = 8;
  const std::uint64_t pio = hardware.adapter.pio_bytes;
  if (pio >= kLargest_bytes) return Kind::onload;
  if (pio >= kHybridFrom_bytes) return Kind::hybrid;
  double best = 0;
  for (int senders = 1; senders <= kMostSenders; ++senders) {
    best = std::max(best, total_at(hardware.adapter.senders, senders));
  }
  const double last = total_at(hardware.adapter.senders, kMostSenders);
  return last < (1 - kDegradingLoss) * best ? Kind::offload_degrading : Kind::offload_scaling;
}

Classification classify(const Measurements& measurements) {
  const auto pio = find_pio(measurements.send_busy);
  const auto loss = two_way_loss(measurements);
  Classification result;
  double certain = pio || loss ? 1 : 0;
  if (!pio) {
    certain *= 0.5;
    result.reason = "not known whether cores store messages";
  } else if (pio->all) {
    result.kind = Kind::onload;
    result.reason = "a core stores all its messages into the adapter";
    // Times of sends that go up and down with the size were disturbed.
    certain *= certainty(pio->slope_ratio, 0, 0.25) * (1 + pio->order) / 2;
  } else {
    const double size = std::log2(std::max<double>(1, static_cast<double>(pio->bytes)));
    certain *= certainty(size, std::log2(kHybridFrom_bytes) - 0.5, 1);
    if (pio->bytes >= kHybridFrom_bytes) {
      result.kind = Kind::hybrid;
      result.reason = fmt::format(
          "cores store messages up to {} bytes, the adapter fetches larger "
          "ones",
          pio->bytes);
    } else {
      result.reason = "the adapter fetches messages";
    }
  }
  const bool offload = !pio || (!pio->all && pio->bytes < kHybridFrom_bytes);
  if (offload && loss) {
    certain *= certainty(loss->part, kDegradingLoss, 0.05);
    if (loss->part > kDegradingLoss) result.kind = Kind::offload_degrading;
    result.reason += loss->part > kDegradingLoss
                         ? fmt::format("; {} pairs get {:.0f} % less than {}", loss->most_pairs,
                                       100 * loss->part, loss->best_pairs)
                         : fmt::format("; {} pairs lose nothing", loss->most_pairs);
  } else if (offload) {
    certain *= 0.5;
    result.reason += "; bandwidths of several pairs are not known";
  }
  result.confidence = certain;
  return result;
}

}  // namespace weft::nic_profiles
