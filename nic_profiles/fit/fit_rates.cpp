#include "nic_profiles/fit/fit_parts.hpp"

#include <algorithm>
#include <optional>

#include "nic_profiles/fit/curve_features.hpp"
#include "nic_profiles/fit/message_costs.hpp"

namespace weft::nic_profiles {

namespace {

class RateFitter {
 public:
  RateFitter(const Measurements& measurements, Profile& profile)
      : taken_(measurements),
        profile_(profile),
        adapter_(profile.hardware.adapter),
        pio_(find_pio(measurements.send_busy)) {}

  void run() {
    // On one core, streams show how ranks share the core, which hides the cost of a message.
    if (taken_.rates.empty() || is_one_core(profile_.hardware.host)) return;
    int most = 1;
    std::uint64_t small = UINT64_MAX, large = 0;
    for (const StreamTiming& timing : taken_.rates) {
      if (!had_cores(timing.stream)) continue;
      most = std::max(most, timing.stream.senders);
      small = std::min(small, timing.stream.bytes);
      large = std::max(large, timing.stream.bytes);
    }
    poll(most, small);
    gaps(most, small);
    if (large != small) gaps(most, large);
  }

 private:
  template <class Value>
  void set(Value& place, Value value, const char* path, const char* how = "") {
    place = value;
    set_source(taken_, profile_, path, how);
  }

  /// Some streams were measured by ranks that shared cores.
  bool on_shared_cores() const {
    return !std::ranges::all_of(taken_.rates,
                                [&](const auto& timing) { return had_cores(timing.stream); });
  }
  /// True when each rank of the stream had a core of its own.
  bool had_cores(const Stream& stream) const {
    const sim::Host& host = profile_.hardware.host;
    const int both = stream.senders + stream.receivers;
    const int ranks = host.nodes > 1 ? both : std::max(stream.senders, stream.receivers);
    return host.cores == 0 || ranks <= host.cores;
  }

  /// Nanoseconds a message of all senders together; nullopt where it was not measured.
  std::optional<double> gap(int senders, int receivers, std::uint64_t bytes) const {
    for (const StreamTiming& timing : taken_.rates) {
      const Stream& stream = timing.stream;
      if (stream.senders != senders || stream.receivers != receivers) continue;
      if (!had_cores(stream)) continue;
      if (stream.bytes != bytes) continue;
      return timing.ns / (static_cast<double>(stream.senders) * stream.messages);
    }
    return std::nullopt;
  }

  /// The cost a message of each further sender to one core, when that core is slower than they are.
  double match(int most, std::uint64_t bytes) const {
    const int half = (most + 1) / 2;
    const auto all = gap(most, 1, bytes);
    const auto some = gap(half, 1, bytes);
    const auto apart = gap(half, half, bytes);
    if (!all || !some || !apart || half == most) return 0;
    if (*some < kDistinct * *apart || *all < kDistinct * *some) return 0;
    return (*all - *some) * 2 / (most - half);
  }

  /// The time that a core spends on a message that it receives.
  void poll(int most, std::uint64_t bytes) {
    const auto all = gap(most, most, bytes);
    const auto into_one = gap(most, 1, bytes);
    const auto from_one = gap(1, most, bytes);
    // The time that the queue pairs of a sender need, when they limit it.
    const double queues_ns = gap(1, 1, bytes).value_or(0) / most;
    // Only one pair was measured: with shared cores the receiver may limit the stream.
    if (most == 1 && on_shared_cores() && all) {
      set(adapter_.poll_ns, std::max(0.0, *all - taking_ns(adapter_, bytes)), "adapter.poll_ns",
          "no more than a stream takes");
    }
    const double match_ns = match(most, bytes);
    if (match_ns > 0) set(adapter_.match_ns, match_ns, "adapter.match_ns");
    if (adapter_.poll_ns == 0 && into_one && all && *into_one > kDistinct * *all) {
      const double rest = *into_one - match_ns * (most - 1) / 2 - taking_ns(adapter_, bytes);
      set(adapter_.poll_ns, std::max(0.0, rest), "adapter.poll_ns", "many senders to one core");
    }
    if (!pio_) return;
    if (pio_->all) {
      set(adapter_.post_ns, std::max(0.0, pio_->stored_ns - adapter_.poll_ns / 2),
          "adapter.post_ns");
    } else if (adapter_.poll_ns == 0 && from_one && all &&
               *from_one > kDistinct * std::max(*all * adapter_.senders.at(most), queues_ns)) {
      const double rest = *from_one - core_ns(adapter_, bytes);
      if (rest > 0) set(adapter_.poll_ns, 2 * rest, "adapter.poll_ns", "polling of a sender");
    }
  }

  /// The time that the adapter needs between messages, when it needs more than the cores.
  void gaps(int most, std::uint64_t bytes) {
    const auto one = gap(1, 1, bytes);
    const auto all = gap(most, most, bytes);
    const auto from_one = gap(1, most, bytes);
    if (!one || !all) return;
    const auto size = static_cast<double>(bytes);
    const bool fetched = bytes > adapter_.pio_bytes;
    const double cores_ns =
        std::max(core_ns(adapter_, bytes), adapter_.poll_ns + taking_ns(adapter_, bytes));
    const double rate = fetched && adapter_.queue_bytes_per_ns > 0 ? adapter_.queue_bytes_per_ns
                                                                   : adapter_.bytes_per_ns;
    if (from_one && *one > kDistinct * std::max({*from_one, cores_ns, size / rate})) {
      set(adapter_.queue_gap_ns, *one, "adapter.queue_gap_ns");
    }
    const double others_ns = std::max({cores_ns, adapter_.queue_gap_ns, size / rate}) / most;
    const double crowd = adapter_.senders.at(most);
    const double wire_ns = size / (adapter_.bytes_per_ns * crowd);
    if (adapter_.message_gap_ns == 0 && *all > kDistinct * std::max(others_ns, wire_ns)) {
      set(adapter_.message_gap_ns, *all * crowd, "adapter.message_gap_ns");
    }
  }

  const Measurements& taken_;
  Profile& profile_;
  sim::Adapter& adapter_;
  const std::optional<Pio> pio_;
};

}  // namespace

void fit_rates(const Measurements& measurements, Profile& profile) {
  RateFitter(measurements, profile).run();
}

}  // namespace weft::nic_profiles
