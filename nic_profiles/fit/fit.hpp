// Fit of a profile to measurements.
#pragma once

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// The profile that best explains the measurements, of the class that they show. A number that no
/// measurement shows has a neutral value, and its source says so: for example, a gap that is hidden
/// behind slower parts is 0. All numbers are in the range that parse() allows.
Profile fit(const Measurements& measurements);

}  // namespace weft::nic_profiles
