#include "tune/experiments/payback.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tune/experiments/grid_reduction.hpp"

namespace weft::tune {

std::vector<std::uint64_t> held_out_sizes(std::span<const Point> points,
                                          std::uint64_t element_bytes) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto low = static_cast<double>(points[i].bytes);
    const double ratio = static_cast<double>(points[i + 1].bytes) / low;
    if (points[i].bytes == 0) continue;
    for (const double eighths : i % 2 == 0 ? std::array{1.0, 5.0} : std::array{3.0, 7.0}) {
      const auto bytes = static_cast<std::uint64_t>(low * std::pow(ratio, eighths / 8));
      const std::uint64_t size = bytes / element_bytes * element_bytes;
      if (size <= points[i].bytes || size >= points[i + 1].bytes) continue;
      if (size == half_way(points[i].bytes, points[i + 1].bytes)) continue;  // a gap of few sizes
      if (sizes.empty() || sizes.back() < size) sizes.push_back(size);
    }
  }
  return sizes;
}

std::vector<double> regrets(std::span<const double> times, std::span<const double> best) {
  std::vector<double> all;
  for (std::size_t i = 0; i < times.size(); ++i) all.push_back(times[i] / best[i] - 1);
  return all;
}

double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  const auto place = std::ceil(part * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(place, 1.0)) - 1];
}

std::optional<double> break_even_calls(double seconds, std::span<const double> before,
                                       std::span<const double> after) {
  const double was = std::accumulate(before.begin(), before.end(), 0.0);
  const double saved = was - std::accumulate(after.begin(), after.end(), 0.0);
  // Rounding is no saving.
  if (saved <= 1e-9 * was) return std::nullopt;
  return std::ceil(seconds * static_cast<double>(before.size()) / saved);
}

}  // namespace weft::tune
