// Estimate: a measured time with the interval in which the true one lies.
#pragma once

#include <span>

namespace weft::nic_profiles {

/// How far a measured time can be trusted.
struct Spread {
  double low_ns = 0;   ///< the ends of the interval that holds the true median in 95 of 100 cases
  double high_ns = 0;  ///< (of six repeats and more; of fewer, the least and the most)
  int repeats = 0;     ///< 1: known exactly; 0: nothing is known of the interval
  double others = 0;   ///< part of the time that others had the cores of the ranks, 0 to 1

  bool operator==(const Spread&) const = default;
};

/// A time, in nanoseconds.
struct Estimate {
  double ns = 0;
  Spread spread = {};
};

/// Half of the interval as a part of the time; an interval no wider than a clock shows is 0.
double looseness(const Estimate& estimate);

/// Repeats end where an interval is as narrow as this.
inline constexpr double kTight = 0.05;
/// A wider interval is measured again.
inline constexpr double kLoose = 0.10;
/// A measurement in which others had more of the cores is not trusted, however narrow its interval:
/// a signal that waits for a busy core takes a turn of the scheduler each time.
inline constexpr double kMostOthers = 0.10;

/// Fewer have no interval of 95 %.
inline constexpr int kLeastRepeats = 6;

bool is_tight(const Estimate& estimate);
bool is_disturbed(const Estimate& estimate);
/// Has fewer repeats than an interval needs.
bool is_hurried(const Estimate& estimate);
/// Narrow enough, not disturbed and not hurried.
bool is_steady(const Estimate& estimate);

/// The median of times in the order in which they were taken, at least one. Its interval is free of
/// assumptions about their distribution: by order statistics (Hoefler and Belli, "Scientific
/// Benchmarking of Parallel Computing Systems", SC 2015, section 3.1.3; Le Boudec, "Performance
/// Evaluation", theorem 2.1). As times that follow each other are alike, these are medians of
/// blocks of the times, where there are more than some twenty.
Estimate estimate(std::span<const double> times);

/// A time that is known, not measured.
inline Estimate exact(double ns) {
  return {ns, {ns, ns, 1, 0}};
}

}  // namespace weft::nic_profiles
