#include "nic_profiles/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "nic_profiles/fit/classify.hpp"
#include "nic_profiles/fit/curve_features.hpp"
#include "nic_profiles/fit/fit_parts.hpp"
#include "nic_profiles/fit/message_costs.hpp"
#include "nic_profiles/numbers.hpp"

namespace weft::nic_profiles {

namespace {

// A smaller part of a one-way time cannot be told from other costs that grow with the size.
constexpr double kLeastTaking = 0.1;

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
    declared();
    sends();
    into_caller();
    bandwidths();
    taking();
    fit_rates(taken_, profile_);
    fit_node(taken_, profile_);
    latency();
    return std::move(profile_);
  }

 private:
  sim::Adapter& adapter() { return profile_.hardware.adapter; }

  template <class Value>
  void set(Value& place, Value value, const char* path, const char* how = "") {
    place = value;
    set_source(taken_, profile_, path, how);
  }

  /// Numbers that the device and the protocol on it declare.
  void declared() {
    const sim::Adapter& said = taken_.identity.hardware.adapter;
    set(adapter().eager_bytes, said.eager_bytes, "adapter.eager_bytes", "of the protocol");
    set(adapter().receiver_first, said.receiver_first, "adapter.receiver_first", "of the protocol");
    set(adapter().inline_bytes, said.inline_bytes, "adapter.inline_bytes",
        "declared by the device");
    set(adapter().in_order_placement, said.in_order_placement, "adapter.in_order_placement",
        "declared by the device");
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
    if (!pio_->all && pio_->stored_ns > kDistinct * pio_->fetched_ns) {
      set(adapter().poll_ns, 2 * (pio_->stored_ns - pio_->fetched_ns), "adapter.poll_ns");
    }
  }

  /// The extra cost of a message into a program's memory, beside one into the library's.
  void into_caller() {
    if (taken_.into_caller.size() < 2) return;
    const Timing& small = taken_.into_caller.front();
    const Timing& large = taken_.into_caller.back();
    const auto small_ns = time_of(taken_.send_busy, small.bytes);
    const auto large_ns = time_of(taken_.send_busy, large.bytes);
    if (!small_ns || !large_ns) return;
    const auto bytes = static_cast<double>(large.bytes - small.bytes);
    const double slope = (*large_ns - *small_ns) / bytes;
    const double theirs = (large.ns - small.ns) / bytes;
    double more_ns = small.ns - *small_ns;
    if (pio_ && adapter().pio_bytes >= large.bytes && theirs > kDistinct * slope) {
      set(adapter().into_caller_bytes_per_ns, 1 / theirs, "adapter.into_caller_bytes_per_ns");
      more_ns -= (theirs - slope) * static_cast<double>(small.bytes);
    }
    if (more_ns > (kDistinct - 1) * *small_ns) {
      set(adapter().into_caller_ns, more_ns, "adapter.into_caller_ns");
    }
  }

  /// The receiver's time for the bytes of a message that it must copy: the part of half a round
  /// trip that grows with the size, without the sender's part.
  void taking() {
    // On one core both ends take turns, and that time grows with the size in other ways.
    if (is_one_core(profile_.hardware.host)) return;
    // Compares only messages that are all stored or all fetched.
    const std::uint64_t eager = adapter().eager_bytes, stored = adapter().pio_bytes;
    const bool fetched = eager > 2 * stored;
    const Timing* small = nullptr;
    const Timing* large = nullptr;
    for (const Timing& timing : taken_.latency) {
      if (timing.bytes > eager || (timing.bytes > stored) != fetched) continue;
      if (small == nullptr || timing.bytes < small->bytes) small = &timing;
      if (large == nullptr || timing.bytes > large->bytes) large = &timing;
    }
    if (small == large) return;
    const double slope = (large->ns - small->ns) / static_cast<double>(large->bytes - small->bytes);
    const double rest = slope - 1 / rate_of(adapter(), large->bytes);
    if (rest > kLeastTaking * slope) {
      set(adapter().take_bytes_per_ns, 1 / rest, "adapter.take_bytes_per_ns");
    }
  }

  void bandwidths() {
    const auto rate = [](const StreamTiming& timing) { return timing.bytes_per_ns(); };
    const auto one_way = best_of_large(taken_, false);
    const auto two_way = best_of_large(taken_, true);
    if (!one_way.empty()) {
      const double most = rate(*std::ranges::max_element(one_way, {}, rate));
      // Streams go into programs' memory. When that limits them, the adapter's own limit is not
      // seen: it is no lower than what a core stores elsewhere and what small messages need.
      if (adapter().into_caller_bytes_per_ns > 0) {
        double least = std::max(most, adapter().pio_bytes_per_ns);
        for (const StreamTiming& timing : taken_.rates) least = std::max(least, rate(timing));
        set(adapter().bytes_per_ns, least, "adapter.bytes_per_ns", "the rate of stores");
        return;
      }
      set(adapter().bytes_per_ns, most, "adapter.bytes_per_ns");
      const double alone = rate(one_way.front());
      const bool fetched = adapter().pio_bytes < kLargest_bytes;
      if (fetched && alone * kDistinct < most) {
        set(adapter().queue_bytes_per_ns, alone, "adapter.queue_bytes_per_ns");
      }
    }
    if (two_way.empty()) return;
    const auto best = std::ranges::max_element(two_way, {}, rate);
    if (rate(*best) * kDistinct < 2 * adapter().bytes_per_ns) {
      set(adapter().both_ways_bytes_per_ns, rate(*best), "adapter.both_ways_bytes_per_ns");
    }
    // Only losses by more senders: gains come from each sender's own limit.
    sim::Scaling senders = adapter().senders;
    for (auto timing = std::next(best); timing != two_way.end(); ++timing) {
      const double total = rate(*timing) / rate(*best);
      if (total * kDistinct >= 1) continue;
      if (senders.points.size() == 1 && best->stream.senders > 1) {
        senders.points.push_back({best->stream.senders, 1.0});
      }
      senders.points.push_back({timing->stream.senders, total});
    }
    set(adapter().senders, senders, "adapter.senders", "two-way, large messages");
  }

  void latency() {
    const auto one = time_of(taken_.latency, 1);
    if (!one) return;
    // The latency includes the start of a transfer when the adapter fetches even this message.
    if (is_one_core(profile_.hardware.host) && pio_) return latency_on_one_core(*one);
    double wait_ns = std::max(0.0, *one - way_ns(adapter(), 1));
    double start_ns = 0;
    const std::uint64_t eager = adapter().eager_bytes;
    const auto told = time_of(taken_.latency, eager);
    const auto asked = time_of(taken_.latency, eager + 1);
    const bool told_is_stored = eager <= adapter().pio_bytes;
    if (adapter().pio_bytes > 0) {
      start_ns = start_by_size(wait_ns);
    } else if (told && asked && !told_is_stored && !adapter().receiver_first) {
      // The request and the answer of a rendezvous are two messages without data.
      const double more_ns = *asked - *told + taking_ns(adapter(), eager);
      const double way = (more_ns - adapter().post_ns - adapter().poll_ns) / 2;
      start_ns = std::max(0.0, wait_ns - way);
      wait_ns -= start_ns;
    }
    set(adapter().latency_ns, wait_ns, "adapter.latency_ns", "with the switches");
    if (start_ns > 0) set(adapter().dma_start_ns, start_ns, "adapter.dma_start_ns");
  }

  /// The sender is done before the receiver gets the core, so no latency is seen.
  void latency_on_one_core(double one_ns) {
    const double send_ns =
        pio_->all ? pio_->stored_ns + 1 / pio_->bytes_per_ns : core_ns(adapter(), 1);
    const double rest_ns = one_ns - send_ns - profile_.hardware.host.switch_ns;
    set(adapter().poll_ns, std::max(0.0, rest_ns), "adapter.poll_ns",
        "the rest of half a round trip");
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
    return fetched ? std::max(0.0, fetched->ns - way_ns(adapter(), fetched->bytes) - wait_ns) : 0;
  }

  const Measurements& taken_;
  Profile profile_;
  std::optional<Pio> pio_;
};

/// Brings a number into its range: differences of times that somebody has spoilt give anything.
void bound(const Number& number, sim::Hardware& hardware) {
  const auto bounded = [&](double value) {
    return std::isnan(value) ? number.low : std::clamp(value, number.low, number.high);
  };
  const auto change = [&](auto* place) {
    auto& value = place(hardware);
    using Type = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<Type, double>) {
      value = bounded(value);
    } else if constexpr (std::is_same_v<Type, sim::Scaling>) {
      for (auto& point : value.points) point.total = bounded(point.total);
    }
  };
  std::visit(change, number.place);
}

}  // namespace

Profile fit(const Measurements& measurements) {
  Profile profile = Fitter(measurements).run();
  for (const Number& number : numbers()) bound(number, profile.hardware);
  return profile;
}

}  // namespace weft::nic_profiles
