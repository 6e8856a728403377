// Everything that the environment says to a communicator, read in one place.
#pragma once

#include <cstdint>
#include <string>

namespace weft::comm {

struct Settings {
  std::string nodes;     // WEFT_NODES: virtual nodes; empty: the real ones
  std::string alltoall;  // WEFT_ALLTOALL: an algorithm; empty: chosen by size
  std::string device;    // WEFT_DEVICE: a device's name, or soft; empty: the first there is
  std::uint64_t eager_bytes = 8 << 10;  // WEFT_EAGER: larger messages go straight into place
  std::uint64_t stage_bytes = 2 << 20;  // WEFT_STAGE: shared memory for data on its way, a rank
  std::int64_t timeout_ns = 0;          // WEFT_TIMEOUT, in seconds; 0: none
  bool crowded_given = false;  // WEFT_WAIT=spin or sleep; auto: asleep where ranks outnumber cores
  bool crowded = false;

  /// UsageError names the variable, its value and what is allowed.
  static Settings from_environment();
};

}  // namespace weft::comm
