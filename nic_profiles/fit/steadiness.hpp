// Steadiness of a probe: whether its profile may be kept for programs, and why not.
#pragma once

#include <string>
#include <vector>

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

struct Steadiness {
  int taken = 0;                   ///< measurements
  int disturbed = 0;               ///< of them, those in which others had the cores for too long
  int wide = 0;                    ///< those whose intervals are wide
  int hurried = 0;                 ///< those that were taken when the time was over, by a glance
  std::vector<std::string> loose;  ///< numbers of the profile, each with its interval
  std::string why_not;             ///< one line; empty: the profile may be kept
};

/// `fitted`: the profile of the measurements, with its intervals. Measurements are disturbed by
/// others only where these had a twentieth of a core or more in all: otherwise it is the kernel
/// that works, for the adapter or for itself, as it does for programs.
Steadiness judge(const Measurements& taken, const Profile& fitted);

/// Why a steady profile shall not replace the kept one: it is much looser. Empty: it shall. A kept
/// one without intervals, or of other hosts or cores, is not compared.
std::string why_not_replace(const Profile& kept, const Profile& fresh);

}  // namespace weft::nic_profiles
