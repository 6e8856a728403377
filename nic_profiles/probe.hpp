// The probe: which measurements are taken of an adapter, in which order.
#pragma once

#include <functional>

#include "nic_profiles/measurements.hpp"

namespace weft::nic_profiles {

/// Called before each measurement with how many are done, and how many there will be (which may
/// grow a little). The probe stops when it returns false.
using Progress = std::function<bool(int done, int total)>;

/// Takes all measurements, the cheapest and most telling first; what is there when `progress` stops
/// it is given back as not complete. Throws what the target throws.
Measurements probe(ProbeTarget& target, const Progress& progress = {});

}  // namespace weft::nic_profiles
