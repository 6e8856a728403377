// Where cores stop storing messages into the adapter themselves, by how long sends keep them.
#pragma once

#include <optional>
#include <span>

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

struct Pio {
  bool all = false;         ///< cores store messages of all sizes
  std::uint64_t bytes = 0;  ///< the largest that they are seen to store
  double bytes_per_ns = 0;  ///< 0: none are seen to be stored
  double stored_ns = 0;     ///< of a send that is stored, without the storing: post, half a poll
  double fetched_ns = 0;    ///< of a send that is fetched: post
  double slope_ratio = 0;   ///< of the largest size's time that is storing, 0 to 1
  double order = 1;         ///< of large sizes: 1 where each takes longer than all smaller ones, 0
                            ///< where they are as if drawn
};

/// A core that stores a message is busy for longer the larger it is; one that rings a doorbell is
/// not. nullopt with fewer than three sizes.
std::optional<Pio> find_pio(std::span<const Timing> send_busy);

}  // namespace weft::nic_profiles
