#include "nic_profiles/fit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "nic_profiles/classify.hpp"
#include "nic_profiles/fit_node.hpp"
#include "nic_profiles/large.hpp"
#include "nic_profiles/numbers.hpp"
#include "nic_profiles/pio.hpp"

namespace weft::nic_profiles {

namespace {

std::optional<double> time_of(const std::vector<Timing>& list, std::uint64_t bytes) {
  const auto found = std::ranges::find(list, bytes, &Timing::bytes);
  return found == list.end() ? std::nullopt : std::optional(found->ns);
}

/// Fits one part of the adapter after another, then the node; later parts build on earlier ones.
class Fitter {
 public:
  explicit Fitter(const Measurements& measurements) : taken_(measurements) {}

  Profile run() {
    profile_ = taken_.identity;
    profile_.hardware = {};
    profile_.sources.clear();
    for (const Number& number : numbers()) {
      profile_.sources[number.path()] = "not seen by the probe: neutral";
    }
    profile_.kind = classify(taken_).kind;
    promised();
    sends();
    bandwidths();
    rates();
    fit_node(taken_, profile_);
    latency();
    return std::move(profile_);
  }

 private:
  sim::Adapter& adapter() { return profile_.hardware.adapter; }
  /// Both ends of whatever was measured took turns on one core: their times add up.
  bool on_one_core() const {
    const sim::Host& host = profile_.hardware.host;
    return host.cores == 1 && host.nodes > 1;
  }

  template <class Value>
  void set(Value& place, Value value, const char* path, const char* how = "") {
    place = value;
    say_source(taken_, profile_, path, how);
  }

  /// What the device and the protocol on it say of themselves.
  void promised() {
    const sim::Adapter& said = taken_.identity.hardware.adapter;
    set(adapter().eager_bytes, said.eager_bytes, "adapter.eager_bytes", "of the protocol");
    set(adapter().inline_bytes, said.inline_bytes, "adapter.inline_bytes", "what it allows");
    set(adapter().in_order_placement, said.in_order_placement, "adapter.in_order_placement",
        "what it promises");
    set(profile_.hardware.rails, 1, "rails", "one was probed");
    const sim::Host& host = taken_.identity.hardware.host;
    set(profile_.hardware.host.cores, host.cores, "host.cores");
    set(profile_.hardware.host.nodes, host.nodes, "host.nodes");
  }

  void sends() {
    pio_ = find_pio(taken_.send_busy);
    if (!pio_) return;
    set(adapter().pio_bytes, pio_->all ? sim::Adapter::kAllSizes : pio_->bytes,
        "adapter.pio_bytes");
    if (pio_->bytes_per_ns > 0) {
      set(adapter().pio_bytes_per_ns, pio_->bytes_per_ns, "adapter.pio_bytes_per_ns");
    }
    if (!pio_->all) set(adapter().post_ns, pio_->fetched_ns, "adapter.post_ns");
    // A core that has stored a message is done with it at once, and polls for that half as long.
    if (!pio_->all && pio_->stored_ns > kTold * pio_->fetched_ns) {
      set(adapter().poll_ns, 2 * (pio_->stored_ns - pio_->fetched_ns), "adapter.poll_ns");
    }
  }

  void bandwidths() {
    const auto rate = [](const StreamTiming& timing) { return timing.bytes_per_ns(); };
    const auto one_way = best_of_large(taken_, false);
    const auto two_way = best_of_large(taken_, true);
    if (!one_way.empty()) {
      const double most = rate(*std::ranges::max_element(one_way, {}, rate));
      set(adapter().bytes_per_ns, most, "adapter.bytes_per_ns");
      const double alone = rate(one_way.front());
      const bool fetched = adapter().pio_bytes < kLargest_bytes;
      if (fetched && alone * kTold < most) {
        set(adapter().queue_bytes_per_ns, alone, "adapter.queue_bytes_per_ns");
      }
    }
    if (two_way.empty()) return;
    const auto best = std::ranges::max_element(two_way, {}, rate);
    if (rate(*best) * kTold < 2 * adapter().bytes_per_ns) {
      set(adapter().both_ways_bytes_per_ns, rate(*best), "adapter.both_ways_bytes_per_ns");
    }
    // What more senders lose; what they gain is each one's own limit.
    sim::Scaling senders = adapter().senders;
    for (auto timing = std::next(best); timing != two_way.end(); ++timing) {
      const double total = rate(*timing) / rate(*best);
      if (total * kTold >= 1) continue;
      if (senders.points.size() == 1 && best->stream.senders > 1) {
        senders.points.push_back({best->stream.senders, 1.0});
      }
      senders.points.push_back({timing->stream.senders, total});
    }
    set(adapter().senders, senders, "adapter.senders", "two-way, large messages");
  }

  /// Nanoseconds a message of all senders together; nullopt where it was not measured.
  std::optional<double> gap(int senders, int receivers, std::uint64_t bytes) const {
    for (const StreamTiming& timing : taken_.rates) {
      const Stream& stream = timing.stream;
      if (stream.senders != senders || stream.receivers != receivers) continue;
      if (stream.bytes != bytes) continue;
      return timing.ns / (static_cast<double>(stream.senders) * stream.messages);
    }
    return std::nullopt;
  }

  void rates() {
    // How ranks share a core shows in streams, and hides what a message costs.
    if (taken_.rates.empty() || on_one_core()) return;
    int most = 1;
    std::uint64_t small = UINT64_MAX, large = 0;
    for (const StreamTiming& timing : taken_.rates) {
      most = std::max(most, timing.stream.senders);
      small = std::min(small, timing.stream.bytes);
      large = std::max(large, timing.stream.bytes);
    }
    poll(most, small);
    gaps(most, small);
    if (large != small) gaps(most, large);
  }

  /// What more senders to one core cost it a message, where it is slower than they are.
  double match(int most, std::uint64_t bytes) const {
    const int half = (most + 1) / 2;
    const auto all = gap(most, 1, bytes);
    const auto some = gap(half, 1, bytes);
    const auto apart = gap(half, half, bytes);
    if (!all || !some || !apart || half == most) return 0;
    if (*some < kTold * *apart || *all < kTold * *some) return 0;
    return (*all - *some) * 2 / (most - half);
  }

  /// What a core spends on a message that it receives.
  void poll(int most, std::uint64_t bytes) {
    const auto all = gap(most, most, bytes);
    const auto into_one = gap(most, 1, bytes);
    const auto from_one = gap(1, most, bytes);
    const double match_ns = match(most, bytes);
    if (match_ns > 0) set(adapter().match_ns, match_ns, "adapter.match_ns");
    if (adapter().poll_ns == 0 && into_one && all && *into_one > kTold * *all) {
      set(adapter().poll_ns, *into_one - match_ns * (most - 1) / 2, "adapter.poll_ns",
          "many senders to one core");
    }
    if (!pio_) return;
    if (pio_->all) {
      set(adapter().post_ns, std::max(0.0, pio_->stored_ns - adapter().poll_ns / 2),
          "adapter.post_ns");
    } else if (adapter().poll_ns == 0 && from_one && all &&
               *from_one > kTold * *all * adapter().senders.at(most)) {
      const double rest = *from_one - core_ns(bytes);
      if (rest > 0) set(adapter().poll_ns, 2 * rest, "adapter.poll_ns", "what a sender polls");
    }
  }

  /// What the adapter needs between messages, where it needs more than the cores.
  void gaps(int most, std::uint64_t bytes) {
    const auto one = gap(1, 1, bytes);
    const auto all = gap(most, most, bytes);
    const auto from_one = gap(1, most, bytes);
    if (!one || !all) return;
    const double size = static_cast<double>(bytes);
    const bool fetched = bytes > adapter().pio_bytes;
    const double cores_ns = std::max(core_ns(bytes), adapter().poll_ns);
    const double rate = fetched && adapter().queue_bytes_per_ns > 0 ? adapter().queue_bytes_per_ns
                                                                    : adapter().bytes_per_ns;
    if (from_one && *one > kTold * std::max({*from_one, cores_ns, size / rate})) {
      set(adapter().queue_gap_ns, *one, "adapter.queue_gap_ns");
    }
    const double others_ns = std::max({cores_ns, adapter().queue_gap_ns, size / rate}) / most;
    const double crowd = adapter().senders.at(most);
    const double wire_ns = size / (adapter().bytes_per_ns * crowd);
    if (adapter().message_gap_ns == 0 && *all > kTold * std::max(others_ns, wire_ns)) {
      set(adapter().message_gap_ns, *all * crowd, "adapter.message_gap_ns");
    }
  }

  /// How long a message keeps its sending core, all in all.
  double core_ns(std::uint64_t bytes) {
    const bool stored = bytes <= adapter().pio_bytes;
    return adapter().post_ns + adapter().poll_ns / 2 +
           (stored ? static_cast<double>(bytes) / adapter().pio_bytes_per_ns : 0);
  }

  /// Half a round trip without latency_ns and dma_start_ns.
  double way_ns(std::uint64_t bytes) {
    const double size = static_cast<double>(bytes);
    double rate = adapter().bytes_per_ns;
    const bool stored = bytes <= adapter().pio_bytes;
    if (stored) rate = std::min(rate, adapter().pio_bytes_per_ns);
    if (!stored && adapter().queue_bytes_per_ns > 0) {
      rate = std::min(rate, adapter().queue_bytes_per_ns);
    }
    return adapter().post_ns + size / rate + adapter().poll_ns;
  }

  void latency() {
    const auto one = time_of(taken_.latency, 1);
    if (!one) return;
    // The start of a transfer is in it where the adapter fetches even this one.
    if (on_one_core() && pio_) return latency_on_one_core(*one);
    double wait_ns = std::max(0.0, *one - way_ns(1));
    double start_ns = 0;
    const std::uint64_t eager = adapter().eager_bytes;
    const auto told = time_of(taken_.latency, eager);
    const auto asked = time_of(taken_.latency, eager + 1);
    const bool told_is_stored = eager <= adapter().pio_bytes;
    if (adapter().pio_bytes > 0) {
      start_ns = start_by_size(wait_ns);
    } else if (told && asked && !told_is_stored) {
      // The question and its answer are two ways without data.
      const double way = (*asked - *told - adapter().post_ns - adapter().poll_ns) / 2;
      start_ns = std::max(0.0, wait_ns - way);
      wait_ns -= start_ns;
    }
    set(adapter().latency_ns, wait_ns, "adapter.latency_ns", "with the switches");
    if (start_ns > 0) set(adapter().dma_start_ns, start_ns, "adapter.dma_start_ns");
  }

  /// The sender is done before the receiver is let in, so nothing is waited for.
  void latency_on_one_core(double one_ns) {
    const double send_ns = pio_->all ? pio_->stored_ns + 1 / pio_->bytes_per_ns : core_ns(1);
    const double rest_ns = one_ns - send_ns - profile_.hardware.host.switch_ns;
    set(adapter().poll_ns, std::max(0.0, rest_ns), "adapter.poll_ns", "what a send leaves to do");
    if (pio_->all) {
      set(adapter().post_ns, std::max(0.0, pio_->stored_ns - adapter().poll_ns / 2),
          "adapter.post_ns");
    }
    set(adapter().latency_ns, 0.0, "adapter.latency_ns", "hidden behind the cores");
  }

  /// Of the first size that the adapter fetches, below the rendezvous.
  double start_by_size(double wait_ns) {
    std::optional<Timing> fetched;
    for (const Timing& timing : taken_.latency) {
      if (timing.bytes <= adapter().pio_bytes || timing.bytes > adapter().eager_bytes) continue;
      if (!fetched || timing.bytes < fetched->bytes) fetched = timing;
    }
    return fetched ? std::max(0.0, fetched->ns - way_ns(fetched->bytes) - wait_ns) : 0;
  }

  const Measurements& taken_;
  Profile profile_;
  std::optional<Pio> pio_;
};

}  // namespace

Profile fit(const Measurements& measurements) {
  return Fitter(measurements).run();
}

}  // namespace weft::nic_profiles
