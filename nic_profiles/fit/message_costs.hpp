// Costs of a single message, by a profile's numbers.
#pragma once

#include <algorithm>

#include "sim/hardware.hpp"

namespace weft::nic_profiles {

/// The time in which the receiver copies a message to its place.
inline double taking_ns(const sim::Adapter& adapter, std::uint64_t bytes) {
  const double rate = adapter.take_bytes_per_ns;
  return rate > 0 && bytes <= adapter.eager_bytes ? static_cast<double>(bytes) / rate : 0;
}

/// The time that a message keeps its sending core.
inline double core_ns(const sim::Adapter& adapter, std::uint64_t bytes) {
  const bool stored = bytes <= adapter.pio_bytes;
  return adapter.post_ns + adapter.poll_ns / 2 +
         (stored ? static_cast<double>(bytes) / adapter.pio_bytes_per_ns : 0);
}

inline double rate_of(const sim::Adapter& adapter, std::uint64_t bytes) {
  if (bytes <= adapter.pio_bytes) return std::min(adapter.bytes_per_ns, adapter.pio_bytes_per_ns);
  const double queue = adapter.queue_bytes_per_ns;
  return queue > 0 ? std::min(adapter.bytes_per_ns, queue) : adapter.bytes_per_ns;
}

/// Half a round trip without latency_ns and dma_start_ns.
inline double way_ns(const sim::Adapter& adapter, std::uint64_t bytes) {
  return adapter.post_ns + static_cast<double>(bytes) / rate_of(adapter, bytes) + adapter.poll_ns +
         taking_ns(adapter, bytes);
}

/// True when both ends of every message share one core: their times add up.
inline bool is_one_core(const sim::Host& host) {
  return host.cores == 1 && host.nodes > 1;
}

}  // namespace weft::nic_profiles
