// Probe: takes the measurements of an adapter, in a fixed order.
#pragma once

#include <functional>
#include <string>

#include "nic_profiles/fit/measurements.hpp"

namespace weft::nic_profiles {

/// Called before each measurement with the number done and the total (which may grow a little). The
/// probe stops when it returns false.
using Progress = std::function<bool(int done, int total)>;

/// The number of measurements.
enum class Effort : std::uint8_t {
  full,
  quick,  ///< fewer sizes; gives the class and all numbers, less exactly
};

/// Called after each measurement with its name, such as "latency of 8 B".
using Taken = std::function<void(const std::string& name, const Estimate& estimate)>;

struct Course {
  Effort effort = Effort::full;
  /// What is not steady is taken again until so many seconds have passed since the probe began, or
  /// until that helps no more. What is not taken at all by then is taken in a hurry.
  double budget_s = 120;
  Taken taken = {};
};

/// Takes all measurements, the cheapest and most informative first, and those again that are not
/// steady (is_steady()): of two, the one that others disturbed less counts, and of such that nobody
/// disturbed the narrower one. When `progress` stops it, the result has those taken so far and is
/// not complete. Throws what the target throws.
Measurements probe(ProbeTarget& target, const Progress& progress = {}, const Course& course = {});

}  // namespace weft::nic_profiles
