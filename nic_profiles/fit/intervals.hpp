// Intervals of fitted numbers, and whether they are narrow enough to choose by.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nic_profiles/fit/measurements.hpp"
#include "nic_profiles/numbers.hpp"

namespace weft::nic_profiles {

/// The interval of each number that `fitted`, the fit of `taken`, has measured: between the 2.5th
/// and the 97.5th percentile of fits to times drawn from the intervals of those that were taken (a
/// parametric bootstrap: Efron and Tibshirani, "An Introduction to the Bootstrap", chapter 6). The
/// same for the same measurements. Empty where no time has a width, as on a simulated adapter.
std::map<std::string, Interval> intervals(const Measurements& taken, const Profile& fitted);

/// A number as a time, ns or ns a byte: what predictions add up. Of a size or a count, itself.
double as_time(const Number& number, double value);

/// The value of a number as intervals have it: of a list of senders, the last total.
double value_of(const Number& number, const sim::Hardware& hardware);

/// The measured numbers whose intervals are too wide: more than 25 % to each side, and of the
/// adapter's more than a tenth of what the number is a part of (half a round trip of the shortest
/// message; the time that such a trip takes for each byte more); of a size, where the largest is
/// over four times the least.
std::vector<Number> loose_numbers(const Measurements& taken, const Profile& fitted);

/// How loose a profile is as a whole: the median over its intervals of half the width as a part of
/// the value. nullopt where it has no intervals.
std::optional<double> looseness(const Profile& profile);

}  // namespace weft::nic_profiles
