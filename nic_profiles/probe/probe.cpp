#include "nic_profiles/probe/probe.hpp"

#include <algorithm>
#include <vector>

#include "nic_profiles/fit/classify.hpp"
#include "nic_profiles/fit/curve_features.hpp"

namespace weft::nic_profiles {

namespace {

constexpr std::uint64_t kSmall_bytes = 8;
// Sizes at which all sends are measured; the larger stays in the cache of a core.
constexpr std::uint64_t kFewBytes = 16;
constexpr std::uint64_t kCachedBytes = 64 << 10;
constexpr int kRateMessages = 512;                   // of all senders
constexpr std::uint64_t kBandwidthBytes = 32 << 20;  // of a sender, of large messages
constexpr int kMostBandwidthMessages = 64;
constexpr int kLeastBandwidthMessages = 8;
constexpr std::uint64_t kCopyBytes = 16 << 10;
constexpr std::uint64_t kManyBlocks = 64;
constexpr std::uint64_t kQuickCache_bytes = 64 << 20;

struct Stopped {};

std::vector<std::uint64_t> powers(std::uint64_t low, std::uint64_t high, std::uint64_t factor) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = low; size <= high; size *= factor) sizes.push_back(size);
  return sizes;
}

/// 1, 2, 4, ... and the most itself.
std::vector<int> counts(int most) {
  std::vector<int> result;
  for (int count = 1; count < most; count *= 2) result.push_back(count);
  result.push_back(most);
  return result;
}

class Prober {
 public:
  Prober(ProbeTarget& target, const Progress& progress, Effort effort)
      : target_(target), progress_(progress), quick_(effort == Effort::quick) {
    result_.identity = target.identity();
    result_.source = target.source();
  }

  Measurements run() {
    try {
      const std::vector<void (Prober::*)()> parts = {
          &Prober::measure_sends, &Prober::measure_latency,     &Prober::measure_bandwidth,
          &Prober::measure_rates, &Prober::measure_inside_node, &Prober::measure_copies};
      // A first run without the target counts the measurements.
      counting_ = true;
      for (const auto part : parts) (this->*part)();
      counting_ = false;
      total_ = done_;
      done_ = 0;
      for (const auto part : parts) (this->*part)();
      result_.complete = true;
    } catch (const Stopped&) {
      result_.complete = false;
    }
    return std::move(result_);
  }

 private:
  /// One measurement, which appends to `list`.
  template <class List, class Measure>
  void take(List& list, Measure measure) {
    if (!counting_ && progress_ && !progress_(done_, std::max(total_, done_))) throw Stopped{};
    if (!counting_) list.push_back(measure());
    ++done_;
  }

  void send(std::uint64_t bytes) {
    take(result_.send_busy, [&] {
      return Timing{bytes, target_.send_busy_ns(bytes, Memory::librarys)};
    });
  }

  void measure_sends() {
    for (const auto bytes : powers(1, kLargest_bytes, quick_ ? 4 : 2)) send(bytes);
    for (const auto bytes : {kFewBytes, kCachedBytes}) {
      take(result_.into_caller, [&] {
        return Timing{bytes, target_.send_busy_ns(bytes, Memory::callers)};
      });
    }
    if (counting_) return;
    // Between the last size that is stored and the first that is not.
    for (;;) {
      const auto pio = find_pio(result_.send_busy);
      if (!pio || pio->all || pio->bytes == 0) return;
      std::uint64_t above = kLargest_bytes;
      for (const Timing& time : result_.send_busy) {
        if (time.bytes > pio->bytes) above = std::min(above, time.bytes);
      }
      const std::uint64_t told = pio->bytes / (quick_ ? 4 : 64);
      if (above - pio->bytes <= std::max<std::uint64_t>(1, told)) return;
      send(pio->bytes + (above - pio->bytes) / 2);
    }
  }

  void latency(std::uint64_t bytes) {
    take(result_.latency, [&] { return Timing{bytes, target_.latency_ns(bytes)}; });
  }

  void measure_latency() {
    for (const auto bytes : powers(1, kLargest_bytes, quick_ ? 4 : 2)) latency(bytes);
    if (counting_) return;
    // On both sides of the size at which cores stop storing, which shows the cost of starting a
    // transfer by the adapter.
    const auto pio = find_pio(result_.send_busy);
    if (pio && !pio->all && pio->bytes > 0) {
      latency(pio->bytes);
      latency(pio->bytes + std::max<std::uint64_t>(1, pio->bytes / 32));
    }
    // And on both sides of the rendezvous, which shows the cost of one way without data.
    const std::uint64_t eager = result_.identity.hardware.adapter.eager_bytes;
    if (eager == 0 || eager >= kLargest_bytes) return;
    latency(eager);
    latency(eager + 1);
  }

  StreamTiming steady(const Stream& stream) { return {stream, target_.steady_ns(stream)}; }

  void measure_bandwidth() {
    for (const bool both_ways : {true, false}) {
      for (const int pairs : counts(target_.most_pairs())) {
        for (const auto bytes : powers(quick_ ? 4 : 1, kLargest_bytes, quick_ ? 16 : 4)) {
          const auto messages = static_cast<int>(std::clamp<std::uint64_t>(
              kBandwidthBytes / bytes, kLeastBandwidthMessages, kMostBandwidthMessages));
          const Stream stream{pairs, pairs, bytes, messages, both_ways};
          take(result_.bandwidths, [&] { return steady(stream); });
        }
      }
    }
  }

  void measure_rates() {
    const auto rate = [&](int senders, int receivers, std::uint64_t bytes) {
      const int messages = std::max(1, kRateMessages / senders);
      const Stream stream{senders, receivers, bytes, messages, false};
      take(result_.rates, [&] { return steady(stream); });
    };
    const int most = target_.most_pairs();
    for (const int senders : counts(most)) rate(senders, senders, kSmall_bytes);
    // And of those that the adapter fetches.
    const auto pio = find_pio(result_.send_busy);
    std::vector<std::uint64_t> sizes = {kSmall_bytes};
    if (pio && !pio->all && pio->bytes >= kSmall_bytes) {
      sizes.push_back(pio->bytes + 1);
      rate(1, 1, sizes.back());
    }
    if (most == 1) return;
    rate((most + 1) / 2, 1, kSmall_bytes);  // to see the cost of matching
    for (const auto bytes : sizes) {
      rate(most, 1, bytes);  // one core sees all
      rate(1, most, bytes);  // one core over many connections
    }
    if (sizes.size() > 1) rate(most, most, sizes.back());
  }

  void measure_inside_node() {
    std::vector<double> signals;
    if (target_.most_pairs() > 1) take(signals, [&] { return target_.signal_ns(); });
    if (!signals.empty()) result_.signal_ns = signals.front();
    std::vector<double> turns;
    // On a host of one core the two are one.
    if (target_.most_pairs() > 1 && result_.identity.hardware.host.cores != 1) {
      take(turns, [&] { return target_.turn_ns(); });
    }
    if (!turns.empty()) result_.turn_ns = turns.front();
    for (const std::uint64_t bytes : {kSmall_bytes, kCachedBytes}) {
      if (target_.most_pairs() == 1) break;
      take(result_.calls, [&] { return Timing{bytes, target_.call_ns(bytes)}; });
    }
    for (const std::uint64_t bytes : {kCopyBytes / 4, kCopyBytes}) {
      take(result_.reductions, [&] { return Timing{bytes, target_.reduce_ns(bytes)}; });
    }
    for (const std::uint64_t bytes : {std::uint64_t{4096}, kLargest_bytes}) {
      take(result_.registrations, [&] { return Timing{bytes, target_.register_ns(bytes)}; });
    }
  }

  void copy(const Copy& copy) {
    take(result_.copies, [&] { return CopyTiming{copy, target_.copy_ns(copy)}; });
  }

  void measure_copies() {
    const int most = target_.most_pairs();
    for (const Origin origin : {Origin::written, Origin::fresh, Origin::memory}) {
      for (const std::uint64_t blocks : {std::uint64_t{1}, kManyBlocks}) {
        copy({origin, kCopyBytes, blocks, 1});
      }
      copy({origin, 2 * kCopyBytes, 1, 1});
    }
    // The paper's Fig. 5: all cores of a node.
    for (const Origin origin : {Origin::written, Origin::fresh}) {
      for (const auto bytes : powers(1 << 10, 1 << 20, 4)) copy({origin, bytes, 1, most});
    }
    copy({Origin::memory, kLargest_bytes, 1, most});
    measure_cache();
  }

  /// The bytes to touch after writing, so that what was written is in no cache.
  void measure_cache() {
    const auto after = [&](std::uint64_t since_bytes) {
      copy({Origin::written, kCopyBytes, 1, 1, since_bytes});
    };
    std::uint64_t most = target_.most_touched_bytes();
    if (quick_) most = std::min(most, kQuickCache_bytes);
    for (const auto bytes : powers(2 * kCopyBytes, most, quick_ ? 4 : 2)) after(bytes);
    if (counting_) return;
    for (;;) {
      const auto cache = find_cache(result_.copies);
      if (!cache || cache->above - cache->bytes <= cache->bytes / (quick_ ? 2 : 32)) return;
      after(cache->bytes + (cache->above - cache->bytes) / 2);
    }
  }

  ProbeTarget& target_;
  const Progress& progress_;
  bool quick_;
  Measurements result_;
  bool counting_ = false;
  int done_ = 0;
  int total_ = 0;
};

}  // namespace

Measurements probe(ProbeTarget& target, const Progress& progress, Effort effort) {
  return Prober(target, progress, effort).run();
}

}  // namespace weft::nic_profiles
