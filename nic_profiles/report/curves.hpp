// Curves of a report, for its tables and its plots.
#pragma once

#include <vector>

#include "nic_profiles/fit/measurements.hpp"
#include "nic_profiles/report/chart.hpp"

namespace weft::nic_profiles {

// Kumar, Mamidala and Panda's figures, for the adapter at hand.

/// Figs. 2 to 4: bandwidth by size, GB/s, a curve for each number of pairs.
Chart bandwidth_chart(const Measurements& measurements, bool both_ways);
/// Fig. 5: what copies cost before sending and after receiving, us by size.
Chart copy_chart(const Measurements& measurements);
/// Small messages by senders, million a second.
Chart rate_chart(const Measurements& measurements);
/// Half a round trip and the time of a send, us by size.
Chart latency_chart(const Measurements& measurements);

/// All, in the order in which they are shown.
std::vector<Chart> charts(const Measurements& measurements);

}  // namespace weft::nic_profiles
