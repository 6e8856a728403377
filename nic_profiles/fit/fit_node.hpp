// From what cores measured by themselves to the numbers of their node, and of registration.
#pragma once

#include "nic_profiles/fit/measurements.hpp"
#include "nic_profiles/profile.hpp"

namespace weft::nic_profiles {

/// What is slower by less than this is not told apart from what it hides behind.
inline constexpr double kTold = 1.03;

/// Sets the numbers of the profile's node, and its adapter's of registration, as far as they were
/// measured.
void fit_node(const Measurements& measurements, Profile& profile);

/// Says of the number at `path` that it was measured, and how.
void say_source(const Measurements& measurements, Profile& profile, const char* path,
                const char* how);

}  // namespace weft::nic_profiles
