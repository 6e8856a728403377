// HardwareTimes: what the steps of an adapter and of a node's cores take, in the units of a
// simulation (sim/units.hpp). Only files of sim/ include this.
#pragma once

#include <cstdint>

#include "sim/hardware.hpp"
#include "sim/units.hpp"

namespace weft::sim {

struct HardwareTimes {
  explicit HardwareTimes(const Hardware& hardware);

  // Adapter: see struct Adapter.
  std::uint64_t eager_bytes;
  bool receiver_first;
  std::uint64_t stored_bytes;  ///< a message of so many is stored by the core
  bool counts_senders;         ///< an adapter's rate depends on how many send
  Time post;
  Time into_caller;
  Time poll;
  Time match;
  Time dma_start;
  Time queue_gap;
  Rate store;
  Rate store_into_caller;
  Rate take;

  // Node: see struct Node.
  Time copy_start;
  Time signal;
  Time call;
  Rate cached;
  Rate memory;
  Rate fresh;
  Rate reduce;
  Rate call_bytes;
};

}  // namespace weft::sim
