#include "nic_profiles/fit/fit_parts.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "nic_profiles/fit/curve_features.hpp"

namespace weft::nic_profiles {

namespace {

class NodeFitter {
 public:
  NodeFitter(const Measurements& measurements, Profile& profile)
      : taken_(measurements),
        profile_(profile),
        adapter_(profile.hardware.adapter),
        node_(profile.hardware.node) {}

  void run() {
    signals_and_reductions();
    registrations();
    copies();
    calls();
    if (const auto cache = find_cache(taken_.copies)) {
      set(node_.cache_bytes, cache->bytes, "node.cache_bytes");
    }
  }

 private:
  template <class Value>
  void set(Value& place, Value value, const char* path, const char* how = "") {
    place = value;
    set_source(taken_, profile_, path, how);
  }

  /// On one core a signal arrives at once, and its receiver runs as soon as it gets the core.
  void signals() {
    if (taken_.signal.empty()) return;
    const double signal_ns = taken_.signal.front().ns;
    sim::Host& host = profile_.hardware.host;
    if (host.cores == 1) {
      set(host.switch_ns, signal_ns, "host.switch_ns", "a signal on one core");
      set(node_.signal_ns, 0.0, "node.signal_ns", "all of it is the change of ranks");
    } else {
      set(node_.signal_ns, signal_ns, "node.signal_ns");
    }
    if (!taken_.turn.empty() && taken_.turn.front().ns > 0) {
      set(host.switch_ns, taken_.turn.front().ns, "host.switch_ns", "a signal on one core");
    }
  }

  /// The cost of a system call, when it is larger than that of starting a copy.
  void calls() {
    if (taken_.calls.size() < 2) return;
    const Timing& small = taken_.calls.front();
    const Timing& large = taken_.calls.back();
    const double slope = (large.ns - small.ns) / static_cast<double>(large.bytes - small.bytes);
    const double call_ns =
        small.ns - slope * static_cast<double>(small.bytes) - node_.copy_start_ns;
    if (slope <= 0 || call_ns < kDistinct * node_.copy_start_ns) return;
    set(node_.call_ns, call_ns, "node.call_ns");
    set(node_.call_bytes_per_ns, 1 / slope, "node.call_bytes_per_ns");
  }

  void signals_and_reductions() {
    signals();
    if (taken_.reductions.size() >= 2) {
      const Timing& small = taken_.reductions.front();
      const Timing& large = taken_.reductions.back();
      set(node_.reduce_bytes_per_ns,
          static_cast<double>(large.bytes - small.bytes) / std::max(1e-3, large.ns - small.ns),
          "node.reduce_bytes_per_ns");
    }
  }

  void registrations() {
    if (taken_.registrations.size() < 2) return;
    const Timing& small = taken_.registrations.front();
    const Timing& large = taken_.registrations.back();
    const double slope =
        std::max(0.0, (large.ns - small.ns) / static_cast<double>(large.bytes - small.bytes));
    set(adapter_.register_ns_per_byte, slope, "adapter.register_ns_per_byte");
    set(adapter_.register_ns, std::max(0.0, small.ns - slope * static_cast<double>(small.bytes)),
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
    const auto bytes = static_cast<double>(found[1]->copy.bytes - found[0]->copy.bytes);
    return bytes / std::max(1e-3, found[1]->ns - found[0]->ns);
  }

  void copies() {
    const auto cached = copy_rate(Origin::written);
    const auto fresh = copy_rate(Origin::fresh);
    const auto memory = copy_rate(Origin::memory);
    if (cached) set(node_.cached_bytes_per_ns, *cached, "node.cached_bytes_per_ns");
    if (fresh) set(node_.fresh_bytes_per_ns, *fresh, "node.fresh_bytes_per_ns");
    if (memory) set(node_.memory_bytes_per_ns, *memory, "node.memory_bytes_per_ns");
    const auto* many =
        copy([](const Copy& one) { return one.origin == Origin::written && one.blocks > 1; });
    const auto* single = copy([&](const Copy& one) {
      return many && one.origin == Origin::written && one.blocks == 1 &&
             one.bytes == many->copy.bytes && one.cores == 1;
    });
    if (many && single) {
      const auto blocks = static_cast<double>(many->copy.blocks - 1);
      set(node_.copy_start_ns, std::max(0.0, (many->ns - single->ns) / blocks),
          "node.copy_start_ns");
    }
    const auto* all =
        copy([](const Copy& one) { return one.origin == Origin::memory && one.cores > 1; });
    if (all && memory) {
      const double total =
          static_cast<double>(all->copy.bytes) * all->copy.cores / std::max(1e-3, all->ns);
      set(node_.total_bytes_per_ns, total, "node.total_bytes_per_ns",
          total * kDistinct < *memory * all->copy.cores ? "" : "at least: more cores would tell");
    }
  }

  const Measurements& taken_;
  Profile& profile_;
  sim::Adapter& adapter_;
  sim::Node& node_;
};

}  // namespace

void set_source(const Measurements& measurements, Profile& profile, const char* path,
                const char* how) {
  profile.sources[path] = measurements.source + (*how ? ": " : "") + how;
}

void fit_node(const Measurements& measurements, Profile& profile) {
  NodeFitter(measurements, profile).run();
}

}  // namespace weft::nic_profiles
