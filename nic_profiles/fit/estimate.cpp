#include "nic_profiles/fit/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"

namespace weft::nic_profiles {

namespace {

constexpr std::size_t kBlocks = 24;
constexpr double kDoubt = 0.05;  // in so many of all cases the interval misses
// What two looks at the clock differ by.
constexpr double kClockDifference_ns = 15;

double middle(std::vector<double> values) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, place);
  if (values.size() % 2 == 1) return *place;
  return (*place + *std::max_element(values.begin(), place)) / 2;
}

/// Medians of blocks of about the same number of times in a row.
std::vector<double> block_medians(std::span<const double> times) {
  const std::size_t blocks = std::min(kBlocks, times.size());
  std::vector<double> medians;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t begin = block * times.size() / blocks;
    const std::size_t end = (block + 1) * times.size() / blocks;
    const auto part = times.subspan(begin, end - begin);
    medians.push_back(middle({part.begin(), part.end()}));
  }
  return medians;
}

/// How many of so many ascending values lie outside of the interval on each side: of the values
/// below the true median there are binomially many, so that many or fewer in kDoubt / 2 of all
/// cases.
std::size_t left_out(std::size_t count) {
  double term = std::pow(0.5, static_cast<double>(count));
  double sum = term;
  std::size_t out = 0;
  while (sum <= kDoubt / 2) {
    term *= static_cast<double>(count - out) / static_cast<double>(out + 1);
    sum += term;
    ++out;
  }
  return out > 0 ? out - 1 : 0;
}

}  // namespace

double looseness(const Estimate& estimate) {
  if (estimate.spread.repeats == 0) return 0;
  const double half = (estimate.spread.high_ns - estimate.spread.low_ns) / 2;
  return half <= kClockDifference_ns ? 0 : half / std::max(estimate.ns, kClockDifference_ns);
}

bool is_tight(const Estimate& estimate) {
  return looseness(estimate) <= kTight;
}

bool is_disturbed(const Estimate& estimate) {
  return estimate.spread.others > kMostOthers;
}

bool is_hurried(const Estimate& estimate) {
  return estimate.spread.repeats > 1 && estimate.spread.repeats < kLeastRepeats;
}

bool is_steady(const Estimate& estimate) {
  return looseness(estimate) <= kLoose && !is_disturbed(estimate) && !is_hurried(estimate);
}

Estimate estimate(std::span<const double> times) {
  if (times.empty()) throw Error("a measurement gave no times");
  Estimate found{middle({times.begin(), times.end()})};
  std::vector<double> medians = block_medians(times);
  std::ranges::sort(medians);
  const std::size_t out = left_out(medians.size());
  found.spread = {std::min(medians[out], found.ns),
                  std::max(medians[medians.size() - 1 - out], found.ns),
                  static_cast<int>(times.size()), 0};
  return found;
}

}  // namespace weft::nic_profiles
