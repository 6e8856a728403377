// From streams of small messages to what cores and adapters need between messages.
#pragma once

#include "nic_profiles/fit/measurements.hpp"
#include "nic_profiles/profile.hpp"

namespace weft::nic_profiles {

/// Sets what shows in rates of messages, of post_ns, poll_ns, match_ns and the gaps. `profile` has
/// what bandwidths, sends and hosts have told.
void fit_rates(const Measurements& measurements, Profile& profile);

}  // namespace weft::nic_profiles
