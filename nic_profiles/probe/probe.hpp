// Probe: takes the measurements of an adapter, in a fixed order.
#pragma once

#include <functional>

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// Called before each measurement with the number done and the total (which may grow a little). The
/// probe stops when it returns false.
using Progress = std::function<bool(int done, int total)>;

/// The number of measurements.
enum class Effort : std::uint8_t {
  full,
  quick,  ///< fewer sizes; gives the class and all numbers, less exactly
};

/// Takes all measurements, the cheapest and most informative first. When `progress` stops it, the
/// result has those taken so far and is not complete. Throws what the target throws.
Measurements probe(ProbeTarget& target, const Progress& progress = {},
                   Effort effort = Effort::full);

}  // namespace weft::nic_profiles
