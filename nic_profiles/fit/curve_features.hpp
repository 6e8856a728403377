// Features of measured curves: the sizes at which cores stop storing messages, at which copies slow
// down, and the bandwidth that large messages reach.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// Programmed I/O: the messages that cores store into the adapter.
struct Pio {
  bool all = false;         ///< cores store messages of all sizes
  std::uint64_t bytes = 0;  ///< the largest that they are seen to store
  double bytes_per_ns = 0;  ///< 0: none are seen to be stored
  double stored_ns = 0;     ///< of a send that is stored, without the storing: post, half a poll
  double fetched_ns = 0;    ///< of a send that the adapter fetches: post
  double slope_ratio = 0;   ///< part of the largest size's time that is storing, 0 to 1
  double order = 1;         ///< of large sizes: 1 where each takes longer than all smaller ones, 0
                            ///< where times are independent of the size
};

/// Finds the largest message that cores store, from how long sends keep their core: a core that
/// stores a message is busy for longer the larger it is, one that rings a doorbell is not. nullopt
/// with fewer than three sizes.
std::optional<Pio> find_pio(std::span<const Timing> send_busy);

struct CacheSize {
  std::uint64_t bytes = 0;  ///< the most touched since writing with which a copy is still fast
  std::uint64_t above = 0;  ///< the least with which it is slow
};

/// Finds the size of a core's caches: where copies of bytes that it wrote before it touched
/// Copy::since_bytes slow down. nullopt where they do not.
std::optional<CacheSize> find_cache(std::span<const CopyTiming> copies);

/// For each number of pairs, ascending, the stream of the highest bandwidth among those of large
/// messages: of a sixteenth of the largest measured size and more. The largest size alone would
/// not do: where buffers no longer fit into a cache, memory limits them, not the adapter.
std::vector<StreamTiming> best_of_large(const Measurements& measurements, bool both_ways);

}  // namespace weft::nic_profiles
