// From measurements to a profile.
#pragma once

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// The profile that best explains the measurements, of the class that they show. A number that was
/// not measured, or that no measurement shows, has a neutral value, and its source says so: a gap
/// that is hidden behind slower parts counts as none, and so on.
Profile fit(const Measurements& measurements);

}  // namespace weft::nic_profiles
