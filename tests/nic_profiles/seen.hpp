// Visibility of a profile's numbers: those that a probe of two nodes can see, and their measured
// values.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "nic_profiles/profile.hpp"

namespace weft::nic_profiles {

/// A number, or a sum or limit of several that shows where these do not show alone.
struct SeenNumber {
  std::string name;
  double fed = 0;
  std::function<double(const sim::Hardware&)> read;
};

/// What hides a number is said beside it. A number that hides behind another by less than this is
/// not asked for.
inline constexpr double kHides = 1.1;
/// Of what half of a number shows in: an error counts twice.
inline constexpr double kHidesHalf = 1.4;
/// Messages of the probe's streams by one sender.
inline constexpr int kStreamed = 512;

inline double both_ways(const sim::Hardware& hardware) {
  const auto& adapter = hardware.adapter;
  const double both = adapter.both_ways_bytes_per_ns;
  return both > 0 ? std::min(both, 2 * adapter.bytes_per_ns) : 2 * adapter.bytes_per_ns;
}

inline std::vector<SeenNumber> seen_numbers(const sim::Hardware& fed, int cores = 8) {
  const auto& a = fed.adapter;
  const auto& n = fed.node;
  std::vector<SeenNumber> seen;
  const auto add = [&](std::string name, std::function<double(const sim::Hardware&)> read) {
    seen.push_back({std::move(name), read(fed), read});
  };
  const bool all_stored = a.pio_bytes >= (4U << 20);
  const bool stores = a.pio_bytes > 0;
  // A core that stores faster than the adapter sends waits for it.
  const double stored_rate = std::min(a.pio_bytes_per_ns, a.bytes_per_ns);
  const double stored_ns = static_cast<double>(a.pio_bytes) / stored_rate + a.poll_ns / 2;
  const bool stores_visibly = all_stored || (stores && stored_ns > 0.05 * kHides * a.post_ns);
  if (a.into_caller_bytes_per_ns > 0) {
    // The streams that would show how fast it is go no faster.
    add("into_caller_bytes_per_ns",
        [](const auto& h) { return h.adapter.into_caller_bytes_per_ns; });
  } else {
    add("bytes_per_ns", [](const auto& h) { return h.adapter.bytes_per_ns; });
    add("both_ways_bytes_per_ns", both_ways);
  }
  double alone_rate = all_stored ? stored_rate : a.bytes_per_ns;
  if (!all_stored && a.queue_bytes_per_ns > 0) {
    alone_rate = std::min(alone_rate, a.queue_bytes_per_ns);
  }
  if (a.take_bytes_per_ns > 0 && alone_rate / a.take_bytes_per_ns > 0.15) {
    add("take_bytes_per_ns", [](const auto& h) { return h.adapter.take_bytes_per_ns; });
  }
  if (a.into_caller_ns > 0.05 * (a.post_ns + a.poll_ns / 2)) {
    add("into_caller_ns", [](const auto& h) { return h.adapter.into_caller_ns; });
  }
  if (stores_visibly) {
    add("pio_bytes", [](const auto& h) { return static_cast<double>(h.adapter.pio_bytes); });
    add("pio_bytes_per_ns",
        [](const auto& h) { return std::min(h.adapter.pio_bytes_per_ns, h.adapter.bytes_per_ns); });
  }
  if (!all_stored) {
    // The last number of cores at which it is looked at.
    add("senders", [cores](const auto& h) { return h.adapter.senders.at(cores); });
    if (a.queue_bytes_per_ns > 0 && a.queue_bytes_per_ns * kHides < a.bytes_per_ns) {
      add("queue_bytes_per_ns", [](const auto& h) { return h.adapter.queue_bytes_per_ns; });
    }
  }
  const double sending_ns = a.post_ns + a.poll_ns / 2;
  const double crowd = a.senders.at(cores);
  // Cores of either side, and connections, work side by side; the adapter does not.
  const double core_ns = sending_ns + (stores ? 8 / stored_rate : 0);
  const double byte_ns = a.take_bytes_per_ns > 0 ? 1 / a.take_bytes_per_ns : 0;
  const double taken_ns = a.poll_ns + 8 * byte_ns;
  const double slowest_ns = std::max({core_ns, taken_ns, a.queue_gap_ns});
  const double gap_ns = a.message_gap_ns / crowd;
  if (gap_ns > kHides * std::max(slowest_ns / cores, 8 / (a.bytes_per_ns * crowd))) {
    // Where the adapter's rate is not seen it may pass for the gap.
    const bool apart = a.into_caller_bytes_per_ns == 0;
    add(apart ? "message_gap_ns" : "message_gap_ns or bytes_per_ns", [=](const auto& h) {
      const double wire_ns = apart ? 0 : 8 / (h.adapter.bytes_per_ns * h.adapter.senders.at(cores));
      return std::max(h.adapter.message_gap_ns, wire_ns);
    });
  }
  if (a.queue_gap_ns > kHides * std::max({core_ns, taken_ns, a.message_gap_ns})) {
    add("queue_gap_ns", [](const auto& h) { return h.adapter.queue_gap_ns; });
  }
  const auto way = [](const sim::Hardware& h) { return h.adapter.latency_ns + h.fabric.hop_ns; };
  const auto poll = [](const sim::Hardware& h) { return h.adapter.poll_ns; };
  // A sender posts all that it has before it polls: where that ends before the last message has
  // come, polling does not show.
  const bool half_poll_shows = sending_ns > kHidesHalf * a.message_gap_ns &&
                               sending_ns > kHidesHalf * a.queue_gap_ns / cores &&
                               kStreamed * a.poll_ns / 2 > 2 * (way(fed) + a.dma_start_ns);
  const bool poll_shows = a.poll_ns > kHides * std::max(gap_ns, slowest_ns / cores) ||
                          (!all_stored && (stores_visibly || half_poll_shows));
  // Half of the senders keep the core that receives from them all busy.
  const int half = cores / 2;
  const bool receiver_shows =
      a.poll_ns > kHides * std::max({gap_ns, slowest_ns / half, 8 / (a.bytes_per_ns * crowd)});
  if (receiver_shows && a.match_ns * (cores - half) / 2 > 0.1 * taken_ns) {
    add("match_ns", [](const auto& h) { return h.adapter.match_ns; });
  }
  if (poll_shows || !all_stored) add("post_ns", [](const auto& h) { return h.adapter.post_ns; });
  if (!poll_shows && all_stored) {
    // The core that stores polls at once.
    add("post_ns and half poll_ns",
        [](const auto& h) { return h.adapter.post_ns + h.adapter.poll_ns / 2; });
    add("latency_ns, hop_ns and half poll_ns",
        [=](const auto& h) { return way(h) + h.adapter.poll_ns / 2; });
  } else if (poll_shows) {
    add("poll_ns", poll);
    // A receiver that has its word first is not asked, which would take two ways.
    const bool asks = !a.receiver_first && a.eager_bytes > 0 && a.eager_bytes < (4U << 20);
    const bool start_shows =
        (stores_visibly && !all_stored && a.pio_bytes < a.eager_bytes) || (!stores && asks);
    if (start_shows) {
      // It is what is left of the time of the first size that is fetched.
      const double stored = static_cast<double>(a.pio_bytes);
      if (a.dma_start_ns > 0.2 * stored * (1 / a.bytes_per_ns + byte_ns))
        add("dma_start_ns", [](const auto& h) { return h.adapter.dma_start_ns; });
      add("latency_ns and hop_ns", way);
    } else {
      add("latency_ns, hop_ns and dma_start_ns",
          [=](const auto& h) { return way(h) + (stores ? 0 : h.adapter.dma_start_ns); });
    }
  } else {
    add("latency_ns, hop_ns, dma_start_ns and poll_ns",
        [=](const auto& h) { return way(h) + poll(h) + (stores ? 0 : h.adapter.dma_start_ns); });
  }
  add("register_ns", [](const auto& h) { return h.adapter.register_ns; });
  add("register_ns_per_byte", [](const auto& h) { return h.adapter.register_ns_per_byte; });
  add("copy_start_ns", [](const auto& h) { return h.node.copy_start_ns; });
  add("cached_bytes_per_ns", [](const auto& h) { return h.node.cached_bytes_per_ns; });
  // A core takes no more than all of them.
  const auto most = [](const sim::Hardware& h, double rate) {
    return std::min(rate, h.node.total_bytes_per_ns);
  };
  add("memory_bytes_per_ns", [=](const auto& h) { return most(h, h.node.memory_bytes_per_ns); });
  add("fresh_bytes_per_ns", [=](const auto& h) { return most(h, h.node.fresh_bytes_per_ns); });
  add("total_bytes_per_ns", [=](const auto& h) {
    return std::min(h.node.total_bytes_per_ns, cores * h.node.memory_bytes_per_ns);
  });
  if (n.cache_bytes >= (64U << 10) &&
      n.cached_bytes_per_ns > 1.1 * kHides * n.memory_bytes_per_ns) {
    add("cache_bytes", [](const auto& h) { return static_cast<double>(h.node.cache_bytes); });
  }
  if (n.call_ns > 0) {
    add("call_ns", [](const auto& h) { return h.node.call_ns; });
    add("call_bytes_per_ns", [](const auto& h) { return h.node.call_bytes_per_ns; });
  }
  if (fed.host.switch_ns > 0) {
    add("switch_ns", [](const auto& h) { return h.host.switch_ns; });
  }
  add("signal_ns", [](const auto& h) { return h.node.signal_ns; });
  add("reduce_bytes_per_ns", [](const auto& h) {
    return std::min(h.node.reduce_bytes_per_ns, h.node.cached_bytes_per_ns);
  });
  return seen;
}

}  // namespace weft::nic_profiles
