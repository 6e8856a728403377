// Classification of adapters, by the numbers of a profile and by measurements.
#pragma once

#include <string>

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// Cores of hybrid adapters store messages of at least this size. Cores of other adapters may store
/// smaller ones (inline data, write combining), which does not change how they are best used.
inline constexpr std::uint64_t kHybridFrom_bytes = 2048;

/// The largest messages that are probed; an adapter whose cores store these stores all.
inline constexpr std::uint64_t kLargest_bytes = 4 << 20;

/// Adapters that lose this part of their two-way bandwidth as pairs are added degrade.
inline constexpr double kDegradingLoss = 0.10;

/// The class that the numbers describe.
Kind kind_of(const sim::Hardware& hardware);

struct Classification {
  Kind kind = Kind::offload_scaling;
  double confidence = 0;  ///< 0 to 1: 0.5 where a measurement lies on the border of two classes
  std::string reason;     ///< one line for people
};

/// The class that measurements show. The times that sends keep their cores show whether cores store
/// messages; the two-way bandwidth of large messages, from its best to that of most pairs, shows
/// degradation. A missing measurement lowers the confidence; without both it is 0.
Classification classify(const Measurements& measurements);

}  // namespace weft::nic_profiles
