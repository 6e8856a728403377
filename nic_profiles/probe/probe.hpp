// The probe: which measurements are taken of an adapter, in which order.
#pragma once

#include <functional>

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// Called before each measurement with how many are done, and how many there will be (which may
/// grow a little). The probe stops when it returns false.
using Progress = std::function<bool(int done, int total)>;

/// How many measurements are taken.
enum class Effort : std::uint8_t {
  full,
  quick,  ///< fewer sizes; the class and all numbers come out, less exactly
};

/// Takes all measurements, the cheapest and most telling first; what is there when `progress` stops
/// it is given back as not complete. Throws what the target throws.
Measurements probe(ProbeTarget& target, const Progress& progress = {},
                   Effort effort = Effort::full);

}  // namespace weft::nic_profiles
