#include "tune/experiments/grid_reduction.hpp"

#include <algorithm>
#include <cmath>

namespace weft::tune {

namespace {

bool has(const Point& point, const std::string& method) {
  return std::ranges::find(point.methods, method, &Method::name) != point.methods.end();
}

/// The sizes between two that were searched.
class Gap {
 public:
  Gap(const Point& below, const Found& first, const Point& above, const Found& last,
      Laboratory& laboratory)
      : below_(below), above_(above), laboratory_(laboratory), winners_{first} {
    const bool same = first.method == last.method && first.segment == last.segment;
    if (!same) winners_.push_back(last);
  }

  /// False where a winner cannot run at one of the sizes.
  bool is_comparable_at(const Point& point) const {
    return std::ranges::all_of(winners_, [&](const Found& one) {
      return has(below_, one.method) && has(point, one.method) && has(above_, one.method);
    });
  }

  Found interpolated(const Point& point) const {
    std::vector<Found> found;
    for (const Found& one : winners_) {
      const double first = std::log(time(below_, one));
      const double last = std::log(time(above_, one));
      const double part =
          (log_bytes(point) - log_bytes(below_)) / (log_bytes(above_) - log_bytes(below_));
      const std::uint64_t segment = one.segment < point.bytes ? one.segment : 0;
      found.push_back({one.method, segment, std::exp(first + part * (last - first))});
    }
    return *std::ranges::min_element(found, {}, &Found::seconds);
  }

 private:
  static double log_bytes(const Point& point) {
    return std::log(static_cast<double>(std::max<std::uint64_t>(point.bytes, 1)));
  }
  double time(const Point& point, const Found& one) const {
    const std::uint64_t segment = one.segment < point.bytes ? one.segment : 0;
    return laboratory_.time({point.collective, point.bytes, one.method, segment});
  }

  const Point& below_;
  const Point& above_;
  Laboratory& laboratory_;
  std::vector<Found> winners_;  // of the two ends
};

}  // namespace

std::vector<Found> reduce_grid(const std::vector<Point>& points, int step, const Search& search,
                               Laboratory& laboratory) {
  std::vector<Found> found(points.size());
  std::size_t before = 0;
  for (std::size_t i = 0; i < points.size();) {
    found[i] = search(points[i], laboratory);
    if (i > before + 1) {
      const Gap gap(points[before], found[before], points[i], found[i], laboratory);
      for (std::size_t between = before + 1; between < i; ++between) {
        const Point& point = points[between];
        found[between] =
            gap.is_comparable_at(point) ? gap.interpolated(point) : search(point, laboratory);
      }
    }
    before = i;
    if (i + 1 == points.size()) break;
    i = std::min(i + static_cast<std::size_t>(step), points.size() - 1);
  }
  return found;
}

std::uint64_t half_way(std::uint64_t bytes, std::uint64_t next) {
  return static_cast<std::uint64_t>(
      std::sqrt(static_cast<double>(bytes) * static_cast<double>(next)));
}

}  // namespace weft::tune
