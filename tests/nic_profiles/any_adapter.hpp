// Random adapters of any class, with realistic numbers.
#pragma once

#include <algorithm>
#include <cmath>

#include <rapidcheck.h>

#include "nic_profiles/profile.hpp"

namespace weft::nic_profiles {

/// As likely in each decade.
inline double any_between(double low, double high) {
  const double part = *rc::gen::inRange(0, 1001) / 1000.0;
  return low * std::pow(high / low, part);
}

/// Numbers in the ranges of the catalogue; of a class beyond doubt.
inline rc::Gen<Profile> any_adapter() {
  return rc::gen::exec([] {
    Profile profile = load("mt25208");
    profile.name = "random";
    profile.kind = *rc::gen::elementOf(std::vector<Kind>(kKinds.begin(), kKinds.end()));
    auto& a = profile.hardware.adapter;
    auto& n = profile.hardware.node;
    a.post_ns = any_between(50, 2000);
    a.poll_ns = any_between(50, 2000);
    a.latency_ns = any_between(200, 20000);
    a.bytes_per_ns = any_between(0.2, 50);
    a.both_ways_bytes_per_ns =
        *rc::gen::arbitrary<bool>() ? 0 : a.bytes_per_ns * any_between(1.2, 1.9);
    a.dma_start_ns = any_between(100, 2000);
    a.message_gap_ns = any_between(2, 2000);
    a.queue_gap_ns = any_between(2, 2000);
    a.senders = {};
    a.queue_bytes_per_ns = 0;
    a.pio_bytes = 0;
    a.pio_bytes_per_ns = 1;
    a.eager_bytes = 8192;
    const bool onload = profile.kind == Kind::onload;
    if (onload || profile.kind == Kind::hybrid) {
      a.pio_bytes =
          onload ? sim::Adapter::kAllSizes : *rc::gen::inRange<std::uint64_t>(3000, 200000);
      a.pio_bytes_per_ns = a.bytes_per_ns * any_between(0.3, 0.9);
      a.eager_bytes = onload ? a.eager_bytes : 4 * a.pio_bytes;
    } else if (*rc::gen::arbitrary<bool>()) {
      a.queue_bytes_per_ns = a.bytes_per_ns * any_between(0.4, 0.9);
    }
    if (profile.kind == Kind::offload_degrading) {
      a.queue_bytes_per_ns = 0;
      const double lost = any_between(0.5, 0.8);
      a.senders.points = {{1, 1.0}, {4, (1 + lost) / 2}, {8, lost}};
    }
    if (onload) a.dma_start_ns = a.queue_gap_ns = 0;
    a.receiver_first = *rc::gen::arbitrary<bool>();
    const auto sometimes = [](double low, double high) {
      return *rc::gen::arbitrary<bool>() ? any_between(low, high) : 0;
    };
    a.take_bytes_per_ns = (onload ? a.pio_bytes_per_ns : a.bytes_per_ns) * sometimes(0.3, 4);
    a.into_caller_ns = sometimes(100, 5000);
    a.into_caller_bytes_per_ns = onload ? a.pio_bytes_per_ns * sometimes(0.2, 0.8) : 0;
    n.call_ns = sometimes(500, 5000);
    // Where it hides behind half of the senders it passes for polling.
    const double sender_ns = a.post_ns + a.poll_ns / 2 + 8 / a.pio_bytes_per_ns;
    const double hidden_ns = std::max({a.message_gap_ns, sender_ns / 4, 8 / a.bytes_per_ns});
    const double taken_ns = a.poll_ns + (a.take_bytes_per_ns > 0 ? 8 / a.take_bytes_per_ns : 0);
    a.match_ns = onload && a.poll_ns > 1.3 * hidden_ns ? taken_ns * any_between(0.06, 0.3) : 0;
    n.copy_start_ns = any_between(10, 200);
    n.memory_bytes_per_ns = any_between(0.3, 12);
    // Cores that store from memory no faster than they read it tell of the memory alone.
    if (a.pio_bytes > 0) {
      n.memory_bytes_per_ns = std::max(n.memory_bytes_per_ns, 1.3 * a.pio_bytes_per_ns);
    }
    n.cached_bytes_per_ns = n.memory_bytes_per_ns * any_between(1.3, 3);
    n.fresh_bytes_per_ns = n.memory_bytes_per_ns * any_between(0.5, 1.5);
    n.total_bytes_per_ns = std::max(n.memory_bytes_per_ns * any_between(2, 16), 5 * a.bytes_per_ns);
    n.cache_bytes = static_cast<std::uint64_t>(any_between(1 << 20, 400 << 20));
    if (n.call_ns > 0) n.call_bytes_per_ns = n.cached_bytes_per_ns * any_between(0.2, 0.9);
    n.signal_ns = any_between(50, 1000);
    n.reduce_bytes_per_ns = n.cached_bytes_per_ns * any_between(0.2, 0.9);
    profile.hardware.host.switch_ns = sometimes(500, 5000);
    profile.hardware.fabric.hop_ns = any_between(10, 500);
    return profile;
  });
}

}  // namespace weft::nic_profiles
