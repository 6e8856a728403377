// Names of measurements, for people who watch a probe.
#pragma once

#include <string>
#include <string_view>

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// "latency of 8 B". `kind`: "latency".
std::string name_of(std::string_view kind, const Timing& timing);
/// "stream of 8 B, 4 to 4, both ways".
std::string name_of(std::string_view kind, const StreamTiming& timing);
/// "copy of 16 KiB, from memory, 4 cores".
std::string name_of(std::string_view kind, const CopyTiming& timing);
/// The kind: there is one of it.
std::string name_of(std::string_view kind, const Estimate& alone);

}  // namespace weft::nic_profiles
