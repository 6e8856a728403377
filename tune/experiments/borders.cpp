#include "tune/experiments/borders.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tune/experiments/grid_reduction.hpp"
#include "tune/experiments/simulated.hpp"

namespace weft::tune {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The border between two winners, each at a size where it wins.
class Border {
 public:
  Border(const Found& below, const Found& above, Laboratory& laboratory)
      : below_(below), above_(above), laboratory_(laboratory) {}

  std::uint64_t find(Point low, Point high, const PointAt& at, const Bordering& how) const {
    if (low.bytes == 0) return 0;
    while (true) {
      // How much the other one loses at each end: that between them is no more where times are
      // smooth.
      const double at_low = loss(above_, below_, low);
      const double at_high = loss(below_, above_, high);
      const double ratio = static_cast<double>(high.bytes) / static_cast<double>(low.bytes);
      Point middle = at(half_way(low.bytes, high.bytes));
      const bool is_between = middle.bytes > low.bytes && middle.bytes < high.bytes;
      if (!is_between || ratio <= how.factor || std::max(at_low, at_high) <= how.regret) {
        return crossing(low.bytes, high.bytes, at_low, at_high);
      }
      (time(below_, middle) <= time(above_, middle) ? low : high) = std::move(middle);
    }
  }

 private:
  double time(const Found& one, const Point& point) const {
    if (std::ranges::find(point.methods, one.method, &Method::name) == point.methods.end()) {
      return kNever;
    }
    const std::uint64_t segment = one.segment < point.bytes ? one.segment : 0;
    return laboratory_.time({point.collective, point.bytes, one.method, segment});
  }
  /// Logarithm of the times' ratio; 0 where the loser does not lose.
  double loss(const Found& loser, const Found& winner, const Point& point) const {
    const double seconds = time(winner, point);
    return seconds < kNever ? std::max(0.0, std::log(time(loser, point) / seconds)) : 0.0;
  }
  static std::uint64_t crossing(std::uint64_t low, std::uint64_t high, double at_low,
                                double at_high) {
    // One that cannot run on the other's side ends where it still can.
    if (at_low == kNever && at_high == kNever) return low;
    double part = 0.5;
    if (at_low == kNever || at_high == kNever) {
      part = at_low == kNever ? 1 : 0;
    } else if (at_low + at_high > 0) {
      part = at_low / (at_low + at_high);
    }
    const double ratio = static_cast<double>(high) / static_cast<double>(low);
    const double bytes = static_cast<double>(low) * std::pow(ratio, part);
    return std::clamp(static_cast<std::uint64_t>(bytes), low, high - 1);
  }

  const Found& below_;
  const Found& above_;
  Laboratory& laboratory_;
};

}  // namespace

std::vector<Rule> rules_of(const std::vector<Point>& points, const std::vector<Found>& found,
                           const PointAt& at, Laboratory& laboratory, const Bordering& how) {
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const std::string name =
        algorithm_of({point.collective, point.bytes, found[i].method, found[i].segment}).name();
    if (!rules.empty() && rules.back().algorithm == name) {
      rules.back().up_to_bytes = Rule::kAnyBytes;
      continue;
    }
    if (!rules.empty()) {
      const Border border(found[i - 1], found[i], laboratory);
      rules.back().up_to_bytes = border.find(points[i - 1], point, at, how);
    }
    rules.push_back({Rule::kAnyBytes, name});
  }
  return rules;
}

}  // namespace weft::tune
