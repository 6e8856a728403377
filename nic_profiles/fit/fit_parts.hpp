// Parts of the fit: from measurements of one kind to the numbers that they show.
#pragma once

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// Times whose ratio is below this are taken for equal: the slower one then shows no cost of its
/// own.
inline constexpr double kDistinct = 1.03;

/// Sets the numbers of the profile's node, and its adapter's of registration, as far as they were
/// measured.
void fit_node(const Measurements& measurements, Profile& profile);

/// Sets the numbers that streams of small messages show: post_ns, poll_ns, match_ns and the gaps.
/// `profile` must have the numbers of bandwidths, sends and hosts already.
void fit_rates(const Measurements& measurements, Profile& profile);

/// Sets the source of the number at `path`: measured, and `how`.
void set_source(const Measurements& measurements, Profile& profile, const char* path,
                const char* how);

}  // namespace weft::nic_profiles
