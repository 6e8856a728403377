#include "nic_profiles/fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "nic_profiles/cache.hpp"
#include "nic_profiles/classify.hpp"
#include "nic_profiles/large.hpp"
#include "nic_profiles/numbers.hpp"
#include "nic_profiles/pio.hpp"

namespace weft::nic_profiles {

namespace {

// What is slower by less than this is not told apart from what it hides behind.
constexpr double kTold = 1.03;

std::optional<double> time_of(const std::vector<Timing>& list, std::uint64_t bytes) {
  const auto found = std::ranges::find(list, bytes, &Timing::bytes);
  return found == list.end() ? std::nullopt : std::optional(found->ns);
}

/// Fits one part of the adapter or the node after another; later parts build on earlier ones.
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
    latency();
    inside_node();
    caches();
    return std::move(profile_);
  }

 private:
  sim::Adapter& adapter() { return profile_.hardware.adapter; }
  sim::Node& node() { return profile_.hardware.node; }

  template <class Value>
  void set(Value& place, Value value, const char* path, const char* how = "") {
    place = value;
    profile_.sources[path] = taken_.source + (*how ? ": " : "") + how;
  }

  /// What the device and the protocol on it say of themselves.
  void promised() {
    const sim::Adapter& said = taken_.identity.hardware.adapter;
    set(adapter().eager_bytes, said.eager_bytes, "adapter.eager_bytes", "of the protocol");
    set(adapter().inline_bytes, said.inline_bytes, "adapter.inline_bytes", "what it allows");
    set(adapter().in_order_placement, said.in_order_placement, "adapter.in_order_placement",
        "what it promises");
    set(profile_.hardware.rails, 1, "rails", "one was probed");
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
    sim::Scaling senders;
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
    if (taken_.rates.empty()) return;
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

  /// What a core spends on a message that it receives.
  void poll(int most, std::uint64_t bytes) {
    const auto all = gap(most, most, bytes);
    const auto into_one = gap(most, 1, bytes);
    const auto from_one = gap(1, most, bytes);
    if (adapter().poll_ns == 0 && into_one && all && *into_one > kTold * *all) {
      set(adapter().poll_ns, *into_one, "adapter.poll_ns", "many senders to one core");
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

  /// Of the first size that the adapter fetches, below the rendezvous.
  double start_by_size(double wait_ns) {
    std::optional<Timing> fetched;
    for (const Timing& timing : taken_.latency) {
      if (timing.bytes <= adapter().pio_bytes || timing.bytes > adapter().eager_bytes) continue;
      if (!fetched || timing.bytes < fetched->bytes) fetched = timing;
    }
    return fetched ? std::max(0.0, fetched->ns - way_ns(fetched->bytes) - wait_ns) : 0;
  }

  void inside_node() {
    if (taken_.signal_ns) set(node().signal_ns, *taken_.signal_ns, "node.signal_ns");
    if (taken_.reductions.size() >= 2) {
      const Timing& small = taken_.reductions.front();
      const Timing& large = taken_.reductions.back();
      set(node().reduce_bytes_per_ns,
          static_cast<double>(large.bytes - small.bytes) / std::max(1e-3, large.ns - small.ns),
          "node.reduce_bytes_per_ns");
    }
    if (taken_.registrations.size() < 2) return;
    const Timing& small = taken_.registrations.front();
    const Timing& large = taken_.registrations.back();
    const double slope =
        std::max(0.0, (large.ns - small.ns) / static_cast<double>(large.bytes - small.bytes));
    set(adapter().register_ns_per_byte, slope, "adapter.register_ns_per_byte");
    set(adapter().register_ns, std::max(0.0, small.ns - slope * static_cast<double>(small.bytes)),
        "adapter.register_ns");
  }

  const CopyTiming* copy(const std::function<bool(const Copy&)>& is_it) const {
    const auto found =
        std::ranges::find_if(taken_.copies, [&](const auto& timing) { return is_it(timing.copy); });
    return found == taken_.copies.end() ? nullptr : &*found;
  }

  /// From the difference of two sizes, each by one core.
  std::optional<double> copy_rate(Origin origin) const {
    std::vector<const CopyTiming*> found;
    for (const CopyTiming& timing : taken_.copies) {
      const Copy& one = timing.copy;
      if (one.origin != origin || one.blocks != 1 || one.cores != 1 || one.since_bytes > 0)
        continue;
      found.push_back(&timing);
      if (found.size() == 2) break;
    }
    if (found.size() < 2) return std::nullopt;
    const double bytes = static_cast<double>(found[1]->copy.bytes - found[0]->copy.bytes);
    return bytes / std::max(1e-3, found[1]->ns - found[0]->ns);
  }

  void caches() {
    const auto cached = copy_rate(Origin::written);
    const auto fresh = copy_rate(Origin::fresh);
    const auto memory = copy_rate(Origin::memory);
    if (cached) set(node().cached_bytes_per_ns, *cached, "node.cached_bytes_per_ns");
    if (fresh) set(node().fresh_bytes_per_ns, *fresh, "node.fresh_bytes_per_ns");
    if (memory) set(node().memory_bytes_per_ns, *memory, "node.memory_bytes_per_ns");
    const auto* many =
        copy([](const Copy& one) { return one.origin == Origin::written && one.blocks > 1; });
    const auto* single = copy([&](const Copy& one) {
      return many && one.origin == Origin::written && one.blocks == 1 &&
             one.bytes == many->copy.bytes && one.cores == 1;
    });
    if (many && single) {
      const double blocks = static_cast<double>(many->copy.blocks - 1);
      set(node().copy_start_ns, std::max(0.0, (many->ns - single->ns) / blocks),
          "node.copy_start_ns");
    }
    const auto* all =
        copy([](const Copy& one) { return one.origin == Origin::memory && one.cores > 1; });
    if (all && memory) {
      const double total =
          static_cast<double>(all->copy.bytes) * all->copy.cores / std::max(1e-3, all->ns);
      set(node().total_bytes_per_ns, total, "node.total_bytes_per_ns",
          total * kTold < *memory * all->copy.cores ? "" : "at least: more cores would tell");
    }
    cache_size();
  }

  void cache_size() {
    const auto cache = find_cache(taken_.copies);
    if (cache) set(node().cache_bytes, cache->bytes, "node.cache_bytes");
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
