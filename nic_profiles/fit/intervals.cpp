#include "nic_profiles/fit/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "nic_profiles/fit/fit.hpp"

namespace weft::nic_profiles {

namespace {

constexpr int kDraws = 400;
constexpr double kTail = 0.025;         // outside of an interval, on each side
constexpr double kNormalOfTail = 1.96;  // the normal distribution has kTail above
constexpr double kLeastPart = 0.1;      // of a time, that is drawn in its place
constexpr double kMostHalf = 0.25;      // of the value
constexpr double kPart = 0.10;          // of what the number is a part of
constexpr double kClock_ns = 20;        // no time is known better
constexpr double kMostSizes = 4;        // the largest size over the least

bool has_width(const Measurements& taken) {
  bool found = false;
  for_each_time(taken, [&](double /*ns*/, const Spread& spread) {
    found |= spread.repeats > 0 && spread.high_ns > spread.low_ns;
  });
  return found;
}

/// Times as they might have been taken as well.
Measurements drawn(const Measurements& taken, std::mt19937_64& random) {
  Measurements other = taken;
  std::normal_distribution<double> normal;
  for_each_time(other, [&](double& ns, const Spread& spread) {
    const double sigmas = normal(random) / kNormalOfTail;
    if (spread.repeats == 0) return;
    const double width = sigmas < 0 ? ns - spread.low_ns : spread.high_ns - ns;
    ns = std::max(kLeastPart * ns, ns + sigmas * width);
  });
  return other;
}

bool is_measured(const Measurements& taken, const Profile& fitted, const Number& number) {
  const auto source = fitted.sources.find(number.path());
  return source != fitted.sources.end() && !taken.source.empty() &&
         source->second.starts_with(taken.source);
}

double half_width(const Number& number, const Interval& interval) {
  const double one = as_time(number, interval.low), other = as_time(number, interval.high);
  return std::abs(one - other) / 2;
}

/// What half a round trip takes for the shortest message, and for each byte more.
struct Trip {
  double ns = 0;
  double ns_per_byte = 0;
};

Trip trip_of(const std::vector<Timing>& latency) {
  if (latency.empty()) return {};
  const auto [small, large] = std::ranges::minmax(latency, {}, &Timing::bytes);
  const auto bytes = static_cast<double>(large.bytes - small.bytes);
  return {small.ns, bytes > 0 ? std::max(0.0, large.ns - small.ns) / bytes : 0};
}

bool is_loose(const Number& number, double value, const Interval& interval, const Trip& trip) {
  const double half = half_width(number, interval);
  if (number.key.ends_with("bytes")) return interval.high > kMostSizes * interval.low;
  if (half <= kMostHalf * as_time(number, value)) return false;
  const bool is_part = number.section == "adapter";
  if (number.key.ends_with("_per_ns") || number.key.ends_with("_per_byte")) {
    return !is_part || half > kPart * trip.ns_per_byte;
  }
  if (number.key.ends_with("_ns")) return half > std::max(kClock_ns, is_part ? kPart * trip.ns : 0);
  return true;
}

}  // namespace

double as_time(const Number& number, double value) {
  if (!number.key.ends_with("bytes_per_ns")) return value;
  return value > 0 ? 1 / value : 0;
}

double value_of(const Number& number, const sim::Hardware& hardware) {
  const auto read = [&](auto* place) -> double {
    const auto& value = place(const_cast<sim::Hardware&>(hardware));  // NOLINT: as in profile.cpp
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, sim::Scaling>) {
      return value.points.back().total;
    } else {
      return static_cast<double>(value);
    }
  };
  return std::visit(read, number.place);
}

std::map<std::string, Interval> intervals(const Measurements& taken, const Profile& fitted) {
  std::map<std::string, Interval> found;
  if (!has_width(taken)) return found;
  std::map<std::string, std::vector<double>> values;
  std::mt19937_64 random;  // of the same seed always
  for (int draw = 0; draw < kDraws; ++draw) {
    const Profile other = fit(drawn(taken, random));
    for (const Number& number : numbers()) {
      // A draw may hide what shows by little: what the number is then says nothing of its value.
      if (!is_measured(taken, fitted, number) || !is_measured(taken, other, number)) continue;
      values[number.path()].push_back(value_of(number, other.hardware));
    }
  }
  for (const Number& number : numbers()) {
    const auto all = values.find(number.path());
    if (all == values.end()) continue;
    std::ranges::sort(all->second);
    const auto out = static_cast<std::size_t>(kTail * static_cast<double>(all->second.size()));
    const double value = value_of(number, fitted.hardware);
    const auto end = [&](double drawn) {
      const bool has_ends = !number.all_sizes && number.high > number.low;
      return has_ends ? std::clamp(drawn, number.low, number.high) : drawn;
    };
    const Interval interval{std::min(end(all->second[out]), value),
                            std::max(end(all->second[all->second.size() - 1 - out]), value)};
    // What the device declares has no width, and needs no interval.
    if (interval.high > interval.low) found[number.path()] = interval;
  }
  return found;
}

std::vector<Number> loose_numbers(const Measurements& taken, const Profile& fitted) {
  const Trip trip = trip_of(taken.latency);
  std::vector<Number> loose;
  for (const Number& number : numbers()) {
    const auto interval = fitted.intervals.find(number.path());
    if (interval == fitted.intervals.end()) continue;
    const double value = value_of(number, fitted.hardware);
    if (is_loose(number, value, interval->second, trip)) loose.push_back(number);
  }
  return loose;
}

std::optional<double> looseness(const Profile& profile) {
  std::vector<double> parts;
  for (const Number& number : numbers()) {
    const auto interval = profile.intervals.find(number.path());
    if (interval == profile.intervals.end()) continue;
    const double time = as_time(number, value_of(number, profile.hardware));
    if (time > 0) parts.push_back(half_width(number, interval->second) / time);
  }
  if (parts.empty()) return std::nullopt;
  std::ranges::sort(parts);
  return parts[parts.size() / 2];
}

}  // namespace weft::nic_profiles
