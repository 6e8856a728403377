// What streams of large messages reach.
#pragma once

#include <vector>

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// For each number of pairs, ascending, the stream of the highest bandwidth among those of large
/// messages, from a sixteenth of the largest measured on. The very largest alone would not do:
/// where buffers no longer fit into a cache, memory is what limits them, not the adapter.
std::vector<StreamTiming> best_of_large(const Measurements& measurements, bool both_ways);

}  // namespace weft::nic_profiles
